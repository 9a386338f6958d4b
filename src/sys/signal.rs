//! Signal dispositions and masks; signalfd(2).

use super::checked;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

/// Gives every signal its default action and unblocks all: what exec would else hand on from a caller that ignores
/// SIGCHLD (cron does) or blocks signals.
pub fn reset_all() -> io::Result<()> {
    // The kernel's struct: SIG_DFL, no flags, no restorer, empty mask, all of them zero.
    let default = [0u64; 4];
    for signal in (1..=64).filter(|signal| !matches!(*signal, libc::SIGKILL | libc::SIGSTOP)) {
        // The system call itself, because the C library refuses 32 and 33, which it keeps for its threads, and a caller
        // that ignores every signal has these ignored too.
        // SAFETY: the kernel reads one struct of at most 32 bytes during the call; no handler of ours is lost that would
        // be needed.
        let ret = unsafe {
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), std::ptr::null::<u64>(), 8)
        };
        checked(ret)?;
    }
    set_mask(&[])
}

/// Gives SIGCHLD its default action, without which wait4(2) fails where the caller ignored it, and lets a broken
/// pipe, or a file that is larger than the caller's RLIMIT_FSIZE, be an error instead of a death.
pub fn prepare_supervisor() -> io::Result<()> {
    let actions =
        [(libc::SIGCHLD, libc::SIG_DFL), (libc::SIGPIPE, libc::SIG_IGN), (libc::SIGXFSZ, libc::SIG_IGN)];
    for (signal, action) in actions {
        // SAFETY: SIG_DFL and SIG_IGN are valid dispositions of these signals.
        if unsafe { libc::signal(signal, action) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Blocks exactly these signals.
pub fn set_mask(signals: &[i32]) -> io::Result<()> {
    let set = sigset(signals);
    // SAFETY: `set` is initialised and outlives the call; a null old set means "do not tell".
    checked(unsafe {
        libc::c_long::from(libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut()))
    })
    .map(drop)
}

/// A close-on-exec, non-blocking descriptor that becomes readable when one of these (blocked) signals is pending.
pub fn signalfd(signals: &[i32]) -> io::Result<OwnedFd> {
    let set = sigset(signals);
    // SAFETY: `set` is initialised and outlives the call; -1 asks for a new descriptor.
    let fd = checked(unsafe {
        libc::c_long::from(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))
    })?;
    // SAFETY: the kernel just made this descriptor for us and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(i32::try_from(fd).unwrap_or(-1)) })
}

/// The number of the next pending signal of a signalfd, if there is one.
pub fn next(fd: i32) -> io::Result<Option<i32>> {
    let mut info = [0u8; std::mem::size_of::<libc::signalfd_siginfo>()];
    match super::fd::read(fd, &mut info) {
        // ssi_signo is the first field, a u32.
        Ok(count) if count >= 4 => Ok(info.first_chunk().map(|signo| i32::from_ne_bytes(*signo))),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

fn sigset(signals: &[i32]) -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the whole set that it is pointed to.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: initialised by the call above.
    let mut set = unsafe { set.assume_init() };
    for signal in signals {
        // SAFETY: `set` is initialised; a number that is no signal is refused with EINVAL and changes nothing.
        unsafe { libc::sigaddset(&raw mut set, *signal) };
    }
    set
}
