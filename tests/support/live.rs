//! A run that is going on, looked at from outside by the kernel's own words in /proc.

use super::Ran;
use std::collections::HashMap;
use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

/// Put before a script that waits: sets the name that [`Live::ready`] waits for.
pub const READY: &str = "
import ctypes, time
def ready(seconds=60):
    ctypes.CDLL(None).prctl(15, b'sj-ready', 0, 0, 0)
    time.sleep(seconds)
";

/// A running `skilljail`.
#[derive(Debug)]
pub struct Live {
    child: Child,
}

impl Live {
    /// Takes over a child whose streams are pipes.
    pub fn new(child: Child) -> Self {
        Self { child }
    }

    /// The supervisor.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a pid fits")
    }

    /// Waits until the script says that it is ready; its pid as this process sees it.
    pub fn ready(&self) -> i32 {
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            let below = descendants(self.pid());
            let named = |pid: &i32| {
                fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == "sj-ready")
            };
            if let Some(pid) = below.into_iter().find(named) {
                return pid;
            }
            assert!(!status(self.pid(), "State").starts_with('Z'), "the supervisor ended already");
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the script never said that it is ready");
    }

    /// Sends the supervisor a signal.
    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.pid()), signal).expect("it lives");
    }

    /// Waits for the end and reads the document.
    pub fn finish(self) -> Ran {
        Ran::of(&self.child.wait_with_output().expect("it can be waited for"))
    }

    /// Waits for the end without reading what it writes.
    pub fn wait_only(mut self) -> std::process::ExitStatus {
        self.child.wait().expect("it can be waited for")
    }

    /// Waits for an end that leaves no document.
    pub fn output(self) -> std::process::Output {
        self.child.wait_with_output().expect("it can be waited for")
    }
}

/// Every process below `pid`, as /proc tells it.
pub fn descendants(pid: i32) -> Vec<i32> {
    let mut parents = HashMap::new();
    for entry in fs::read_dir("/proc").expect("/proc is there").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name in parentheses may hold anything; what follows the last one is numbers.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        parents.insert(pid, parent.unwrap_or(0));
    }
    let is_below = |mut one: i32| {
        while let Some(parent) = parents.get(&one) {
            if *parent == pid {
                return true;
            }
            one = *parent;
        }
        false
    };
    parents.keys().copied().filter(|one| is_below(*one)).collect()
}

/// A field of `/proc/PID/status`.
pub fn status(pid: i32, field: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process is there");
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {field} in {text}")).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Processes whose command line or environment holds this word.
pub fn with_word(word: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc is there").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let holds = |file: &str| {
            let bytes = fs::read(entry.path().join(file)).unwrap_or_default();
            bytes.windows(word.len()).any(|window| window == word.as_bytes())
        };
        // A dead process that waits for its parent has neither.
        if pid.cast_unsigned() != std::process::id() && (holds("cmdline") || holds("environ")) {
            found.push(pid);
        }
    }
    found
}

/// Waits until no process holds this word any more; the kernel takes namespaces down behind our back.
pub fn assert_gone(word: &str) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let left = with_word(word);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "left behind: {left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
