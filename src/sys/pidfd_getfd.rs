//! `pidfd_open(2)` and `pidfd_getfd(2)`.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// A descriptor for a process.
///
/// # Errors
/// `ESRCH` when it is gone, `ENOSYS` before Linux 5.3 or behind a seccomp filter.
pub fn open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0 as libc::c_uint) })
}

/// A copy of another process's descriptor `number`.
///
/// # Errors
/// `EPERM` without the right to trace it (Yama, an outer seccomp filter), `EBADF`, `ENOSYS` before Linux 5.6.
pub fn copy(process: BorrowedFd<'_>, number: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0 as libc::c_uint) })
}

fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    match i32::try_from(result) {
        // SAFETY: the kernel just made this descriptor for us; nobody else knows its number.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}
