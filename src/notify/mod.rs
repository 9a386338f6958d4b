//! The seccomp user-notification loop: every call that the filter sends here is written down and refused.

pub mod denials;

use crate::sys::seccomp::NotifSizes;
use denials::Denials;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::BorrowedFd;

/// What there was to hear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// A call: it is written down, and answered.
    Call,
    /// No call; or its caller died, or was interrupted, in between.
    Nothing,
    /// No process has the filter any more, and none will.
    NobodyLeft,
}

/// Takes one pending notification, writes it down, and answers EPERM. Nothing is ever let through from here. Never waits.
///
/// # Errors
/// Of poll and of the listener's ioctls, but for those that a caller's death brings.
pub fn answer(sizes: NotifSizes, listener: BorrowedFd<'_>, denials: &mut Denials) -> io::Result<Heard> {
    take(sizes, listener, denials, |id| sizes.error(listener, id, libc::EPERM))
}

/// The laboratory's answer: written down, and let through.
///
/// # Errors
/// As [`answer`].
#[cfg(feature = "lab")]
pub fn let_through(sizes: NotifSizes, listener: BorrowedFd<'_>, denials: &mut Denials) -> io::Result<Heard> {
    take(sizes, listener, denials, |id| sizes.proceed(listener, id))
}

fn take(
    sizes: NotifSizes,
    listener: BorrowedFd<'_>,
    denials: &mut Denials,
    reply: impl FnOnce(u64) -> io::Result<()>,
) -> io::Result<Heard> {
    // SECCOMP_IOCTL_NOTIF_RECV waits, whatever the flags of its fd; before Linux 6.11 forever, also when nobody is left who could
    // call. What was pending when we looked is still counted when its caller is killed meanwhile: then it says ENOENT.
    let mut fds = [PollFd::new(listener, PollFlags::POLLIN)];
    poll(&mut fds, PollTimeout::ZERO)?;
    let events = fds[0].revents().unwrap_or(PollFlags::empty());
    if !events.contains(PollFlags::POLLIN) {
        let over = events.contains(PollFlags::POLLHUP);
        return Ok(if over { Heard::NobodyLeft } else { Heard::Nothing });
    }
    let call = match sizes.recv(listener) {
        Ok(call) => call,
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR | libc::EAGAIN)) => {
            return Ok(Heard::Nothing);
        }
        Err(error) => return Err(error),
    };
    denials.record(call.nr, &call.args);
    match reply(call.id) {
        // The caller died while we looked: there is nobody to answer.
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(Heard::Call),
        other => other.map(|()| Heard::Call),
    }
}
