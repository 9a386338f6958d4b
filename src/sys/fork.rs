//! `clone(2)` used as a fork into new namespaces.

use std::io;

/// Runs `child` in a copy of this process that is in the namespaces of `flags` (`CLONE_NEW*`, 0 for a plain fork), and gives
/// its pid. The copy ends with exit code 0 when `child` returns; its parent's death kills it.
///
/// `child` runs with one thread in a copy of a process that may have many: it must not allocate, lock or panic.
///
/// # Errors
/// The kernel's: `EPERM`, `ENOSPC`, `EUSERS`, `EINVAL`, `EAGAIN` …; then there is no child.
pub fn into_namespaces(flags: libc::c_int, child: impl FnOnce()) -> io::Result<i32> {
    let all = libc::c_long::from(flags | libc::SIGCHLD);
    let zero: libc::c_long = 0;
    // SAFETY: with a null stack and without CLONE_VM the child gets a copy of the memory, as after fork(2); no
    // pointer is passed. Flags are the first argument on all machines that we build for (s390x is none of them).
    let pid = unsafe { libc::syscall(libc::SYS_clone, all, zero, zero, zero, zero) };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    if pid == 0 {
        let (signal, unused): (libc::c_long, libc::c_long) = (libc::c_long::from(libc::SIGKILL), 0);
        // SAFETY: takes numbers only.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal, unused, unused, unused) };
        child();
        // SAFETY: ends the process without running the parent's exit handlers or flushing its buffers.
        unsafe { libc::_exit(0) };
    }
    i32::try_from(pid).map_err(io::Error::other)
}
