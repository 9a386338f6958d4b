//! `keyctl(2)`.

use std::io;

const KEYCTL_JOIN_SESSION_KEYRING: libc::c_ulong = 1;

/// Gives the process a new, anonymous session keyring.
///
/// # Errors
/// `EPERM` or `ENOSYS` where an outer seccomp filter refuses keyrings, `EDQUOT` over the user's quota.
pub fn join_anonymous_session() -> io::Result<()> {
    let name: *const libc::c_char = std::ptr::null();
    // SAFETY: a null name asks for an anonymous keyring; nothing is read through it.
    let result = unsafe { libc::syscall(libc::SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, name) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
