//! fcntl(2): taking over a descriptor that the caller left open for us under a number.

use nix::errno::Errno;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

/// Duplicates the descriptor of that number, close-on-exec, above the standard streams.
///
/// # Errors
///
/// `EBADF` if the number is not open.
pub fn duplicate(number: RawFd) -> Result<OwnedFd, Errno> {
    // SAFETY: F_DUPFD_CLOEXEC reads no memory of ours; a number that is not open is answered with EBADF, and one that is
    // stays as it was, whoever owns it.
    let fd = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    Errno::result(fd)?;
    // SAFETY: the kernel has just made this descriptor for this call: nobody else knows its number, so it is ours to close.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
