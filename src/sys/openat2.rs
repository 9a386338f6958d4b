//! openat2(2): opening beneath a directory, with the kernel as the judge of the path.

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag};
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};

/// How often a lookup that raced with a rename is tried again. The kernel answers EAGAIN when it cannot say
/// whether a `..` or a symlink left the directory; somebody who renames without end gets a refusal.
const ATTEMPTS: u32 = 64;

/// Opens `path` below `dir`. `O_CLOEXEC` is always added: no fd of ours is for another program.
///
/// # Errors
///
/// The kernel's errno. `EXDEV` means that the path left `dir` (with `RESOLVE_BENEATH`), `ELOOP` that a symlink
/// was met that `resolve` forbids, `EAGAIN` that renames went on through all attempts, `ENOSYS` a kernel before 5.6.
pub fn openat2(dir: impl AsFd, path: &OsStr, flags: OFlag, resolve: ResolveFlag) -> Result<OwnedFd, Errno> {
    let how = OpenHow::new().flags(flags | OFlag::O_CLOEXEC).resolve(resolve);
    let mut last = Errno::EAGAIN;
    for _ in 0..ATTEMPTS {
        match nix::fcntl::openat2(dir.as_fd(), path, how) {
            Err(errno @ (Errno::EAGAIN | Errno::EINTR)) => last = errno,
            answer => return answer,
        }
    }
    Err(last)
}
