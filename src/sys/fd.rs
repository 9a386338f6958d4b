//! dup3(2), close_range(2), read(2) and write(2) on plain descriptor numbers, fcntl(2).

use super::checked;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// Makes `target` name the same open file as `fd`; close-on-exec as asked. `fd` and `target` must differ.
pub fn dup3(fd: i32, target: i32, cloexec: bool) -> io::Result<()> {
    let flags = if cloexec { libc::O_CLOEXEC } else { 0 };
    // SAFETY: plain integers; whatever `target` named before is closed, which the callers (the child after clone,
    // laying out its descriptor table) intend.
    checked(unsafe { libc::syscall(libc::SYS_dup3, fd, target, flags) }).map(drop)
}

/// A duplicate with a number of at least `min`, close-on-exec (`F_DUPFD_CLOEXEC`).
pub fn dup_above(fd: BorrowedFd<'_>, min: i32) -> io::Result<OwnedFd> {
    // SAFETY: fcntl with an integer argument; no memory is touched.
    let new =
        checked(unsafe { libc::c_long::from(libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, min)) })?;
    // SAFETY: the kernel just made this descriptor for us and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(i32::try_from(new).unwrap_or(-1)) })
}

/// Takes a descriptor that came by `SCM_RIGHTS`.
pub fn received(number: i32) -> OwnedFd {
    // SAFETY: recvmsg(2) just installed it in our table with the message; nothing else knows the number.
    unsafe { OwnedFd::from_raw_fd(number) }
}

/// Closes every descriptor from `first` to `last`, both included.
pub fn close_range(first: u32, last: u32) -> io::Result<()> {
    if first > last {
        return Ok(());
    }
    // SAFETY: plain integers. Only the child calls this, after clone, on its own copy of the table; owners of the
    // closed numbers live in frames of the parent's past that the child never returns to.
    checked(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) }).map(drop)
}

/// Closes one descriptor by number in the child, ignoring whether it was open.
pub fn close(number: i32) {
    // SAFETY: see `close_range`.
    unsafe { libc::close(number) };
}

/// Reads into `buffer`; `Ok(0)` is end of file. Restarts on `EINTR`.
pub fn read(fd: i32, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the kernel writes at most `buffer.len()` bytes into memory that we hold exclusively.
        let ret = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
        if let Ok(count) = usize::try_from(ret) {
            return Ok(count);
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINTR) {
            return Err(error);
        }
    }
}

/// Writes some of `bytes`. Restarts on `EINTR`.
pub fn write(fd: i32, bytes: &[u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the kernel reads at most `bytes.len()` bytes of memory that we borrow for the call.
        let ret = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
        if let Ok(count) = usize::try_from(ret) {
            return Ok(count);
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINTR) {
            return Err(error);
        }
    }
}

/// Whether the peer of this socket is gone: a peek that does not wait finds end of file, or no answer but that it would wait.
pub fn peer_is_gone(socket: i32) -> bool {
    let mut byte = 0u8;
    // SAFETY: the kernel writes at most one byte into `byte`; MSG_PEEK leaves the message where it is.
    let ret = unsafe { libc::recv(socket, (&raw mut byte).cast(), 1, libc::MSG_PEEK | libc::MSG_DONTWAIT) };
    ret == 0 || ret < 0 && nix::errno::Errno::last() != nix::errno::Errno::EAGAIN
}

/// Sets `O_NONBLOCK`.
pub fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: fcntl with integer arguments; no memory is touched.
    let flags = checked(unsafe { libc::c_long::from(libc::fcntl(fd.as_raw_fd(), libc::F_GETFL)) })?;
    let flags = i32::try_from(flags).unwrap_or(0) | libc::O_NONBLOCK;
    // SAFETY: as above.
    checked(unsafe { libc::c_long::from(libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags)) }).map(drop)
}
