//! pidfd_open(2), pidfd_send_signal(2), pidfd_getfd(2).

use super::checked;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// Sends SIGKILL. `ESRCH` (already gone) is success: the wish is fulfilled.
pub fn kill(pidfd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: a null siginfo asks for the one that kill(2) would make; no memory is read.
    let ret = checked(unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            libc::SIGKILL,
            std::ptr::null::<libc::siginfo_t>(),
            0,
        )
    });
    match ret {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        other => other.map(drop),
    }
}

/// A close-on-exec pidfd of a process (pidfd_open(2)). The number must be a child's that is not reaped yet, or it may name
/// another process by now.
pub fn open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain integers.
    let fd = checked(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    // SAFETY: the kernel just made this descriptor for us and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(i32::try_from(fd).unwrap_or(-1)) })
}

/// A close-on-exec duplicate of descriptor `number` of that process (Linux 5.6; needs ptrace access to it).
pub fn getfd(pidfd: BorrowedFd<'_>, number: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain integers.
    let fd = checked(unsafe { libc::syscall(libc::SYS_pidfd_getfd, pidfd.as_raw_fd(), number, 0) })?;
    // SAFETY: the kernel just made this descriptor for us and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(i32::try_from(fd).unwrap_or(-1)) })
}
