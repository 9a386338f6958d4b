//! Runs the host's interpreter, and stays answerable to signals meanwhile.

use super::super::RuntimeError;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::io::{Read as _, Seek as _};
use std::os::fd::AsFd as _;
use std::process::{Command, ExitStatus, Stdio};

/// How often a running child is looked at, in milliseconds.
const TICK: u8 = 20;
/// How much of a failed child's words is repeated.
const TAIL: usize = 2_000;

/// While it lives, the signals that end a program are kept back, so that a build can clean up first.
///
/// The calling thread's mask is changed and put back; the children get an empty mask (the standard library sees to it).
pub(super) struct Interrupts {
    fd: SignalFd,
    before: SigSet,
}

impl Interrupts {
    /// Keeps back SIGINT, SIGTERM and SIGHUP.
    pub(super) fn hold() -> Result<Self, RuntimeError> {
        let mut mask = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            mask.add(signal);
        }
        let before = mask
            .thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK)
            .map_err(RuntimeError::errno("block", "signals"))?;
        let fd = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .map_err(RuntimeError::errno("open", "signalfd"))?;
        Ok(Self { fd, before })
    }

    /// An error if one has come.
    pub(super) fn check(&self) -> Result<(), RuntimeError> {
        match self.fd.read_signal() {
            Ok(Some(info)) => Err(RuntimeError::Interrupted(info.ssi_signo.cast_signed())),
            _ => Ok(()),
        }
    }

    /// Waits up to a tick for a signal.
    fn tick(&self) -> Result<(), RuntimeError> {
        let mut fds = [PollFd::new(self.fd.as_fd(), PollFlags::POLLIN)];
        // A failure (EINTR) is no different from a tick that is over.
        let _ = poll(&mut fds, PollTimeout::from(TICK));
        self.check()
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        // Nothing could be done about a failure, and the mask only delays signals.
        let _ = self.before.thread_set_mask();
    }
}

/// What a child said.
pub(super) struct Said {
    /// How it ended.
    pub(super) status: ExitStatus,
    /// Standard output.
    pub(super) out: String,
    /// Standard error.
    pub(super) err: String,
}

impl Said {
    /// The error of a child that failed; nothing for one that did not.
    pub(super) fn ok(self, what: &'static str, hint: impl Into<String>) -> Result<Self, RuntimeError> {
        if self.status.success() {
            return Ok(self);
        }
        Err(RuntimeError::Child {
            what,
            status: self.status.to_string(),
            tail: tail(&self.err),
            hint: hint.into(),
        })
    }
}

/// Runs several commands at once, `width` at most, and returns what each said, in order. All are gone when it returns.
pub(super) fn run_all(
    commands: Vec<Command>,
    width: usize,
    interrupts: &Interrupts,
) -> Result<Vec<Said>, RuntimeError> {
    let mut results: Vec<Option<Said>> = commands.iter().map(|_| None).collect();
    let mut queue = commands.into_iter().enumerate();
    let mut running: Vec<(usize, Running)> = Vec::new();
    loop {
        while running.len() < width {
            let Some((index, command)) = queue.next() else { break };
            running.push((index, Running::start(command)?));
        }
        if running.is_empty() {
            return Ok(results.into_iter().flatten().collect());
        }
        let mut still = Vec::new();
        for (index, mut child) in running {
            match child.done()? {
                Some(status) => {
                    if let Some(slot) = results.get_mut(index) {
                        *slot = Some(child.said(status)?);
                    }
                }
                None => still.push((index, child)),
            }
        }
        running = still;
        interrupts.tick()?;
    }
}

/// Runs one command.
pub(super) fn run(command: Command, interrupts: &Interrupts) -> Result<Said, RuntimeError> {
    let mut said = run_all(vec![command], 1, interrupts)?;
    said.pop().ok_or_else(|| RuntimeError::Io {
        step: "wait for",
        path: "a child".into(),
        source: std::io::ErrorKind::NotFound.into(),
    })
}

/// A child whose words go to unnamed files, so that nothing can block on a full pipe.
struct Running {
    child: std::process::Child,
    program: std::path::PathBuf,
    out: std::fs::File,
    err: std::fs::File,
}

impl Running {
    fn start(mut command: Command) -> Result<Self, RuntimeError> {
        let program = std::path::PathBuf::from(command.get_program());
        let file = || tempfile::tempfile().map_err(RuntimeError::io("make", "a temporary file"));
        let (out, err) = (file()?, file()?);
        let dup = |file: &std::fs::File| file.try_clone().map_err(RuntimeError::io("duplicate", "a file"));
        command.stdin(Stdio::null()).stdout(dup(&out)?).stderr(dup(&err)?);
        let child = command.spawn().map_err(RuntimeError::io("run", &program))?;
        Ok(Self { child, program, out, err })
    }

    fn done(&mut self) -> Result<Option<ExitStatus>, RuntimeError> {
        self.child.try_wait().map_err(RuntimeError::io("wait for", &self.program))
    }

    fn said(mut self, status: ExitStatus) -> Result<Said, RuntimeError> {
        Ok(Said { status, out: read(&mut self.out)?, err: read(&mut self.err)? })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only for a child that is gone, which is what is wanted.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn read(file: &mut std::fs::File) -> Result<String, RuntimeError> {
    let mut bytes = Vec::new();
    file.rewind()
        .and_then(|()| file.read_to_end(&mut bytes))
        .map_err(RuntimeError::io("read", "what a child said"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn tail(text: &str) -> String {
    let text = text.trim_end();
    let start = text.len().saturating_sub(TAIL);
    let start = (start..text.len()).find(|index| text.is_char_boundary(*index)).unwrap_or(0);
    text.get(start..).unwrap_or_default().to_owned()
}
