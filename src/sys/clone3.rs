//! clone3(2): a new process in new namespaces.

use super::checked;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// Which side of the clone this is.
#[derive(Debug)]
pub enum Cloned {
    /// The new process.
    Child,
    /// The caller: the child's pid in the caller's pid namespace, and a pidfd of it.
    Parent {
        /// The child's pid as the caller sees it.
        pid: i32,
        /// A close-on-exec pidfd of the child.
        pidfd: OwnedFd,
    },
}

/// From linux/sched.h; libc's constant is an int, into which it does not fit.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Forks with the given `CLONE_NEW*` flags, optionally into a cgroup (`CLONE_INTO_CGROUP`, Linux 5.7).
///
/// The memory is copied as fork(2) copies it. The caller must be single-threaded: a lock that another thread held
/// at that moment would stay locked in the child for ever.
///
/// # Errors
/// The kernel's: `EPERM` (user namespaces refused), `ENOSPC` (a namespace limit), `EAGAIN` (a process limit).
pub fn clone3(namespaces: u64, cgroup: Option<BorrowedFd<'_>>) -> io::Result<Cloned> {
    let mut pidfd: libc::c_int = -1;
    // SAFETY: clone_args is plain old data; all-zero means "no flag, no pointer" for each of its fields.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = namespaces | libc::CLONE_PIDFD as u64;
    args.pidfd = (&raw mut pidfd) as u64;
    args.exit_signal = libc::SIGCHLD as u64;
    if let Some(fd) = cgroup {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = u64::try_from(fd.as_raw_fd()).unwrap_or(u64::MAX);
    }
    // SAFETY: no CLONE_VM, so the child runs on a copy of this stack, as after fork(2); the kernel reads `args` and
    // writes `pidfd` before it returns, and both outlive the call.
    let pid = checked(unsafe {
        libc::syscall(libc::SYS_clone3, &raw mut args, std::mem::size_of::<libc::clone_args>())
    })?;
    if pid == 0 {
        return Ok(Cloned::Child);
    }
    // SAFETY: the call succeeded with CLONE_PIDFD, so the kernel stored a new descriptor that nobody else owns.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok(Cloned::Parent { pid: i32::try_from(pid).unwrap_or(-1), pidfd })
}
