//! The runs of the soak: one that ends well, and each way to end badly that costs no waiting.

use crate::support::{self, Ran, Run, Skill};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The ways to end badly.
pub(crate) const KINDS: usize = 8;

const SCRIPT: &str = r#"
import json, os, sys
asked = json.load(sys.stdin)["text"]
with open("/workdir/out/artifact", "w") as file:
    file.write(asked)
if asked == "exit":
    sys.exit(3)
if asked == "signal":
    os.abort()
if asked == "flood":
    while True:
        os.write(1, b"x" * 65536)
if asked == "probe":
    import socket
    while True:
        try:
            socket.socket()
        except PermissionError:
            pass
if asked == "wait":
    import threading
    threading.Thread(target=threading.Event().wait).start()
    threading.Event().wait()
print(json.dumps({"asked": asked}))
"#;

/// What every run stands on; made before the first snapshot.
pub(crate) struct Ground {
    skill: Skill,
    scratch: tempfile::TempDir,
    dice: AtomicU64,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        support::runtime();
        Self { skill: Skill::new(SCRIPT), scratch, dice: AtomicU64::new(0x9e37_79b9_7f4a_7c15) }
    }

    fn run(&self, asked: &str) -> Run {
        self.skill.run().input(format!(r#"{{"text": "{asked}"}}"#))
    }

    fn expect(ran: &Ran, status: &str, code: i32) {
        assert_eq!((ran.status(), ran.code), (status, code), "{ran:#?}");
    }

    pub(crate) fn end_well(&self) {
        let ran = self.run("well").go();
        Self::expect(&ran, "ok", 0);
        assert_eq!(ran.stdout(), "{\"asked\": \"well\"}\n");
    }

    pub(crate) fn end_badly(&self, number: usize) {
        match number % KINDS {
            0 => Self::expect(&self.run("exit").go(), "script_error", 3),
            1 => Self::expect(&self.run("signal").go(), "signaled", 134),
            2 => Self::expect(&self.run("flood").go(), "output_limit", 123),
            3 => Self::expect(&self.run("probe").go(), "killed_by_policy", 126),
            4 => Self::expect(&self.run("well").input("[1]").go(), "input_rejected", 120),
            5 => self.set_up_short_of_descriptors(),
            6 => self.stopped_after_a_while(Signal::SIGKILL),
            _ => self.stopped_after_a_while(Signal::SIGTERM),
        }
    }

    /// The set-up fails wherever the descriptors end: in the supervisor, or in its child after the clone.
    fn set_up_short_of_descriptors(&self) {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={}:1024", 6 + self.roll() % 12)).arg(support::SKILLJAIL);
        command.args(["run", "--runtime"]).arg(support::runtime()).arg(self.skill.path()).arg("main.py");
        let output = support::feed(command, br#"{"text": "well"}"#);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{told}");
        assert!(told.contains("Too many open files"), "{told}");
    }

    /// A supervisor with a run that waits for ever.
    fn waiting(&self) -> std::process::Child {
        let mut command = Command::new(support::SKILLJAIL);
        command.args(["run", "--runtime"]).arg(support::runtime()).arg(self.skill.path()).arg("main.py");
        let input = self.scratch.path().join("wait.json");
        fs::write(&input, r#"{"text": "wait"}"#).expect("a file can be written");
        command.arg("--input").arg(input);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the program starts")
    }

    /// At any step: before the clone, in the middle of the mounts, when the script has long begun to wait.
    fn stopped_after_a_while(&self, signal: Signal) {
        let mut child = self.waiting();
        std::thread::sleep(Duration::from_micros(self.roll() % 80_000));
        kill(Pid::from_raw(child.id().try_into().expect("a pid")), signal).expect("it can be signalled");
        let status = child.wait().expect("it can be waited for");
        // SIGTERM may come before the handler stands; SIGKILL always wins.
        assert!(!status.success(), "{status:?}");
    }

    fn roll(&self) -> u64 {
        // xorshift: any spread will do, and the same one each time.
        let step = |mut x: u64| {
            x ^= x << 13;
            x ^= x >> 7;
            Some(x ^ (x << 17))
        };
        self.dice.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).expect("it always has a next")
    }

    /// The high-water mark of a supervisor whose script runs; `meanwhile` is called before that ends.
    pub(crate) fn supervisor_peak_kib(&self, meanwhile: impl FnOnce()) -> u64 {
        let child = self.waiting();
        std::thread::sleep(Duration::from_secs(1));
        meanwhile();
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it still runs");
        let pid = Pid::from_raw(child.id().try_into().expect("a pid"));
        kill(pid, Signal::SIGTERM).expect("it can be signalled");
        let code = child.wait_with_output().expect("it can be waited for").status.code();
        assert_eq!(code, Some(143));
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the kernel tells");
        line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number of KiB")
    }
}
