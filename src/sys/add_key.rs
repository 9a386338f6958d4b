//! `add_key(2)`: a canary for the laboratory.

use super::checked;
use std::ffi::CStr;
use std::io;

/// Puts a key of type `user` into the session keyring of this process.
///
/// # Errors
/// `EPERM` or `ENOSYS` where an outer filter refuses keyrings, `EDQUOT` over the user's quota.
pub fn to_session(description: &CStr, payload: &[u8]) -> io::Result<()> {
    const KEY_SPEC_SESSION_KEYRING: libc::c_int = -3;
    // SAFETY: two NUL-terminated strings and `payload.len()` bytes that the kernel copies during the call.
    checked(unsafe {
        libc::syscall(
            libc::SYS_add_key,
            c"user".as_ptr(),
            description.as_ptr(),
            payload.as_ptr(),
            payload.len(),
            KEY_SPEC_SESSION_KEYRING,
        )
    })
    .map(drop)
}
