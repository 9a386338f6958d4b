//! `prctl(2)`: what it tells about the calling thread, and `PR_SET_NO_NEW_PRIVS` for children that probe.

use std::io;

/// Whether `no_new_privs` is set.
pub fn no_new_privs() -> bool {
    read(libc::PR_GET_NO_NEW_PRIVS) == 1
}

/// The seccomp mode: 0 none, 2 filter. (In mode 1 the question itself would kill.)
pub fn seccomp_mode() -> u8 {
    u8::try_from(read(libc::PR_GET_SECCOMP)).unwrap_or(0)
}

fn read(option: libc::c_int) -> libc::c_int {
    let zero: libc::c_ulong = 0;
    // SAFETY: these options take no pointer.
    unsafe { libc::prctl(option, zero, zero, zero, zero) }
}

/// Sets `no_new_privs` for the calling thread. It cannot be undone: for children.
///
/// # Errors
/// Only behind a seccomp filter that refuses it.
pub fn set_no_new_privs() -> io::Result<()> {
    let (one, zero): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: takes numbers only.
    let result = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, one, zero, zero, zero) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
