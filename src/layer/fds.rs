//! The descriptor table: what the jail starts with is listed here, and nothing of the caller's is in it.

#[cfg(feature = "lab")]
use super::without::{Wall, Without};
use super::{ApplyError, Layer, Step as _};
use crate::seccomp::EXEC_FD;
use crate::sys::{fd, rlimit, signal};
use serde::Serialize;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// The channel to the supervisor, close-on-exec.
pub const CHANNEL_FD: i32 = 3;
/// The pipe by which secrets come to the payload alone, close-on-exec.
pub const SECRETS_FD: i32 = 4;
/// The first number that none of the fixed ones uses: what is opened during set-up lies from here on.
const FIRST_FREE: i32 = 5;

/// What the payload is left with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The numbers that are open when the payload starts.
    pub open: Vec<i32>,
    /// The number from which the payload is executed, above every number that it can make.
    pub exec_fd: i32,
}

/// The plan, which is the same for every policy.
pub fn plan() -> Plan {
    Plan { open: vec![0, 1, 2], exec_fd: EXEC_FD }
}

/// The ends that the child keeps. All numbers are above those that they will be moved to.
#[derive(Debug)]
pub struct Prepared {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    channel: OwnedFd,
    secrets: Option<OwnedFd>,
    exec: OwnedFd,
}

impl Prepared {
    /// Moves each descriptor above the fixed numbers, so that laying them out never overwrites one of them.
    pub fn new(
        [stdin, stdout, stderr]: [OwnedFd; 3],
        channel: OwnedFd,
        secrets: Option<OwnedFd>,
        exec: BorrowedFd<'_>,
    ) -> Result<Self, ApplyError> {
        let above = |fd: OwnedFd| {
            use std::os::fd::AsFd as _;
            if fd.as_raw_fd() >= FIRST_FREE {
                return Ok(fd);
            }
            fd::dup_above(fd.as_fd(), FIRST_FREE).step(Layer::Fds, "fcntl(F_DUPFD_CLOEXEC)")
        };
        // dup3 onto EXEC_FD needs a soft limit above it; the final limit, lower, comes with the rlimits layer.
        let needed = u64::from(EXEC_FD.unsigned_abs()) + 1;
        let (soft, hard) = rlimit::get(libc::RLIMIT_NOFILE).step(Layer::Fds, "prlimit(RLIMIT_NOFILE)")?;
        if soft < needed {
            // Root may raise the hard one too; anybody else gets EPERM.
            let step =
                "prlimit(RLIMIT_NOFILE): the hard limit of the caller is too low for the exec descriptor";
            rlimit::set(libc::RLIMIT_NOFILE, needed, hard.max(needed)).step(Layer::Fds, step)?;
        }
        Ok(Self {
            stdin: above(stdin)?,
            stdout: above(stdout)?,
            stderr: above(stderr)?,
            channel: above(channel)?,
            secrets: secrets.map(above).transpose()?,
            exec: fd::dup_above(exec, EXEC_FD + 1)
                .or_else(|_| fd::dup_above(exec, FIRST_FREE))
                .step(Layer::Fds, "fcntl(F_DUPFD_CLOEXEC)")?,
        })
    }
}

impl Prepared {
    /// Where the channel is before it is moved to its own number, which is one of the caller's descriptors until then.
    pub fn channel_at_first(&self) -> RawFd {
        self.channel.as_raw_fd()
    }
}

/// Lays out the table: 0 to 2 are the pipes, 3 the channel, 4 the secrets, EXEC_FD the program; all else is closed.
/// Signal dispositions and mask, which exec would hand on too, are reset here as well.
pub(super) fn apply(prepared: &Prepared, #[cfg(feature = "lab")] without: Without) -> Result<(), ApplyError> {
    #[cfg(feature = "lab")]
    let (reset, close) = (!without.has(Wall::FdsSignals), !without.has(Wall::FdsClose));
    #[cfg(not(feature = "lab"))]
    let (reset, close) = (true, true);
    if reset {
        signal::reset_all().step(Layer::Fds, "reset signals")?;
    }
    lay_out(prepared)?;
    if close {
        let first = if prepared.secrets.is_some() { SECRETS_FD + 1 } else { SECRETS_FD };
        let (first, exec) = (first.unsigned_abs(), EXEC_FD.unsigned_abs());
        fd::close_range(first, exec - 1).step(Layer::Fds, "close_range")?;
        fd::close_range(exec + 1, u32::MAX).step(Layer::Fds, "close_range")?;
    }
    Ok(())
}

/// Moves each descriptor to its number.
fn lay_out(prepared: &Prepared) -> Result<(), ApplyError> {
    let mut layout = [
        (prepared.exec.as_raw_fd(), EXEC_FD, true),
        (prepared.stdin.as_raw_fd(), 0, false),
        (prepared.stdout.as_raw_fd(), 1, false),
        (prepared.stderr.as_raw_fd(), 2, false),
        (prepared.channel.as_raw_fd(), CHANNEL_FD, true),
        (prepared.secrets.as_ref().map_or(-1, AsRawFd::as_raw_fd), SECRETS_FD, true),
    ];
    // A descriptor that happens to sit on EXEC_FD would be overwritten by the first move: it goes first then.
    if layout.iter().any(|(from, _, _)| *from == EXEC_FD) {
        layout.sort_by_key(|(from, _, _)| *from != EXEC_FD);
    }
    for (from, to, cloexec) in layout {
        if from >= 0 && from != to {
            fd::dup3(from, to, cloexec).step(Layer::Fds, "dup3")?;
        }
    }
    Ok(())
}
