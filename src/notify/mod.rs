//! The seccomp user-notification loop: every call that the filter sends here is written down and refused.

pub mod denials;

use crate::sys::seccomp::NotifSizes;
use denials::Denials;
use std::io;
use std::os::fd::BorrowedFd;

/// Takes one pending notification, writes it down, and answers EPERM. Nothing is ever let through from here.
///
/// `false` when there was none: the caller died or its call was interrupted in between.
pub fn answer(sizes: NotifSizes, listener: BorrowedFd<'_>, denials: &mut Denials) -> io::Result<bool> {
    let call = match sizes.recv(listener) {
        Ok(call) => call,
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR | libc::EAGAIN)) => {
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    denials.record(call.nr, &call.args);
    match sizes.error(listener, call.id, libc::EPERM) {
        // The caller died while we looked: there is nobody to answer.
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(true),
        other => other.map(|()| true),
    }
}
