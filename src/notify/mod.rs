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
    take(sizes, listener, denials, |id| sizes.error(listener, id, libc::EPERM))
}

/// The laboratory's answer: written down, and let through.
#[cfg(feature = "lab")]
pub fn let_through(sizes: NotifSizes, listener: BorrowedFd<'_>, denials: &mut Denials) -> io::Result<bool> {
    take(sizes, listener, denials, |id| sizes.proceed(listener, id))
}

fn take(
    sizes: NotifSizes,
    listener: BorrowedFd<'_>,
    denials: &mut Denials,
    reply: impl FnOnce(u64) -> io::Result<()>,
) -> io::Result<bool> {
    let call = match sizes.recv(listener) {
        Ok(call) => call,
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR | libc::EAGAIN)) => {
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    denials.record(call.nr, &call.args);
    match reply(call.id) {
        // The caller died while we looked: there is nobody to answer.
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(true),
        other => other.map(|()| true),
    }
}
