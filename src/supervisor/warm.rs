//! A jail that is started ahead: interpreter and imports are behind it when the input comes, and it serves one run.
//!
//! The script is ready when it waits for its input, and that it does is the kernel's word, not its own: the main thread
//! sleeps in read(2) on descriptor 0 (`/proc/PID/syscall`), and descriptor 0 is the pipe that we hold the other end of.
//! Nothing that a script prints, or a hook in its interpreter could say, makes it ready. There is no event for a reader that
//! begins to wait, so it is looked for, every few milliseconds, until it is seen once.

use crate::report::{self, ReadyLine};
use crate::sys::fd;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::time::{Duration, Instant};

/// How often a script that is not ready is looked at: often enough that a pool of jails fills at once, and a thousandth of
/// a processor's time.
const LOOK: Duration = Duration::from_millis(2);

/// What a script that waits for its input has cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ready {
    /// From the first step of set-up to exec.
    pub setup: Duration,
    /// From exec until it waited.
    pub after: Duration,
    /// Its proportional set size (`/proc/PID/smaps_rollup`), where that can be read.
    pub idle_kib: Option<u64>,
}

/// Passes on that the script waits.
pub type Tell<'a> = Box<dyn FnMut(&Ready) -> io::Result<()> + 'a>;
/// Judges an input.
pub type Check<'a> = Box<dyn FnMut(&[u8]) -> Result<(), String> + 'a>;

/// The caller's side of a warm run.
pub struct Caller<'a> {
    /// Set-up and imports may take this long.
    pub ready_limit: Duration,
    /// The input may take this long after that.
    pub idle_limit: Duration,
    /// Most bytes of an input.
    pub most: u64,
    /// Is told once, when the script waits.
    pub tell: Tell<'a>,
    /// Judges the input by the contract; the text says what is wrong.
    pub check: Check<'a>,
}

/// What went before the run's own time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// None: it never waited for its input.
    pub ready: Option<Ready>,
    /// From then until the input was handed over, or to the end.
    pub idle: Duration,
    /// Whether it was.
    pub served: bool,
}

impl Facts {
    /// As the document says it.
    pub fn entry(&self) -> report::Warm {
        report::Warm {
            ready_ms: self.ready.map(|ready| millis(ready.after)),
            idle_ms: millis(self.idle),
            idle_kib: self.ready.and_then(|ready| ready.idle_kib),
            served: self.served,
        }
    }
}

impl Ready {
    /// As the line before the document says it.
    pub fn line(&self) -> ReadyLine {
        let setup_us = u64::try_from(self.setup.as_micros()).unwrap_or(u64::MAX);
        ReadyLine { version: 1, ready: true, setup_us, ready_ms: millis(self.after), idle_kib: self.idle_kib }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Where a warm run stands.
#[derive(Debug)]
pub(super) struct Warm {
    ready_limit: Duration,
    idle_limit: Duration,
    most: u64,
    pipe: String,
    next_look: Option<Instant>,
    ready: Option<(Instant, Ready)>,
    input: Vec<u8>,
    whole: bool,
    judged: bool,
    /// When the run's own time began.
    pub(super) given: Option<Instant>,
}

/// What the input is, once its end has come.
pub(super) enum Input {
    /// Not whole yet, or judged already.
    NotYet,
    /// The end came before the first byte.
    Nothing,
    /// These bytes.
    Whole(Vec<u8>),
}

impl Warm {
    pub(super) fn new(caller: &Caller<'_>, stdin: BorrowedFd<'_>) -> io::Result<Self> {
        let inode = nix::sys::stat::fstat(stdin)?.st_ino;
        Ok(Self {
            ready_limit: caller.ready_limit,
            idle_limit: caller.idle_limit,
            most: caller.most,
            pipe: format!("pipe:[{inode}]"),
            next_look: None,
            ready: None,
            input: Vec::new(),
            whole: false,
            judged: false,
            given: None,
        })
    }

    /// Whether more of the input is waited for.
    pub(super) fn wants_to_read(&self) -> bool {
        !self.whole
    }

    /// Whether the script waits for its input.
    pub(super) fn is_ready(&self) -> bool {
        self.ready.is_some()
    }

    /// Until when this phase may last; `exec` is when the payload was let go.
    pub(super) fn deadline(&self, exec: Instant) -> Instant {
        self.ready.map_or(exec + self.ready_limit, |(at, _)| at + self.idle_limit)
    }

    /// When the script must be looked at again; none: it is known to be ready.
    pub(super) fn next_look(&self) -> Option<Duration> {
        let look = self.next_look.unwrap_or_else(Instant::now);
        self.ready.is_none().then(|| look.saturating_duration_since(Instant::now()))
    }

    /// Takes what came of the input on our own stdin, which poll(2) found ready.
    pub(super) fn read(&mut self) -> io::Result<()> {
        let mut chunk = [0u8; 4096];
        match fd::read(io::stdin().as_fd().as_raw_fd(), &mut chunk) {
            Ok(0) => self.whole = true,
            Ok(count) => {
                self.input.extend(chunk.iter().take(count));
                // One byte more than may be tells that there are too many.
                self.whole = self.input.len() as u64 > self.most;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The input when it is whole, once.
    pub(super) fn take_input(&mut self) -> Input {
        if !self.whole || self.judged {
            return Input::NotYet;
        }
        self.judged = true;
        if self.input.is_empty() { Input::Nothing } else { Input::Whole(self.input.clone()) }
    }

    /// The bytes to hand over: the script waits and they were judged to be good.
    pub(super) fn give(&mut self) -> Option<Vec<u8>> {
        if self.given.is_some() || !self.judged || self.ready.is_none() {
            return None;
        }
        self.given = Some(Instant::now());
        Some(std::mem::take(&mut self.input))
    }

    /// Looks whether the script waits, if it is time to; answers the facts the first time that it does.
    pub(super) fn look(&mut self, proc_pid: i32, setup: Duration, exec: Instant) -> Option<Ready> {
        let now = Instant::now();
        if self.ready.is_some() || self.next_look.is_some_and(|look| look > now) {
            return None;
        }
        self.next_look = Some(now + LOOK);
        if !waits_for_stdin(proc_pid, &self.pipe) {
            return None;
        }
        let ready = Ready { setup, after: now.saturating_duration_since(exec), idle_kib: pss_kib(proc_pid) };
        self.ready = Some((now, ready));
        Some(ready)
    }

    pub(super) fn facts(&self, finished: Instant) -> Facts {
        let until = self.given.unwrap_or(finished);
        Facts {
            ready: self.ready.map(|(_, ready)| ready),
            idle: self.ready.map_or(Duration::ZERO, |(at, _)| until.saturating_duration_since(at)),
            served: self.given.is_some(),
        }
    }
}

/// Whether the process's main thread sleeps in a read of descriptor 0, and that is this pipe.
fn waits_for_stdin(pid: i32, pipe: &str) -> bool {
    let Ok(call) = std::fs::read_to_string(format!("/proc/{pid}/syscall")) else { return false };
    reads_descriptor_0(&call)
        && std::fs::read_link(format!("/proc/{pid}/fd/0")).is_ok_and(|link| link.as_os_str() == pipe)
}

/// proc(5): the number, then the arguments in hexadecimal; "running" where it does not sleep.
fn reads_descriptor_0(call: &str) -> bool {
    let mut words = call.split(' ');
    let number = words.next().and_then(|word| word.parse::<libc::c_long>().ok());
    number.is_some_and(|number| [libc::SYS_read, libc::SYS_readv].contains(&number))
        && words.next() == Some("0x0")
}

fn pss_kib(pid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    #[test]
    fn only_a_sleeping_read_of_descriptor_0_counts() {
        let read = libc::SYS_read;
        for (line, waits) in [
            (format!("{read} 0x0 0x7ffe 0x2000 0x0 0x0 0x0 0x7ffd 0x7f1a\n"), true),
            (format!("{read} 0x3 0x7ffe 0x2000 0x0 0x0 0x0 0x7ffd 0x7f1a\n"), false),
            (format!("{} 0x0 0x7ffe 0x2000 0x0 0x0 0x0 0x7ffd 0x7f1a\n", libc::SYS_write), false),
            ("running\n".to_owned(), false),
            ("-1 0x7ffd 0x7f1a\n".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(reads_descriptor_0(&line), waits, "{line}");
        }
    }

    #[test]
    fn a_child_that_waits_on_this_pipe_is_seen_and_on_another_is_not() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let inode = nix::sys::stat::fstat(&stdin).unwrap().st_ino;
        let pid = i32::try_from(child.id()).unwrap();
        let pipe = format!("pipe:[{inode}]");
        while !waits_for_stdin(pid, &pipe) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!waits_for_stdin(pid, "pipe:[1]"));
        assert!(pss_kib(pid).unwrap() > 0);
        stdin.write_all(b"x").unwrap();
        drop(stdin);
        child.wait().unwrap();
        assert!(!waits_for_stdin(pid, &pipe));
    }
}
