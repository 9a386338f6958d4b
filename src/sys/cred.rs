//! setgroups(2), setresuid(2), setresgid(2), keyctl(2), and the questions about them.

use super::checked;
use std::io;

/// Drops all supplementary groups. `EPERM` where setgroups is denied for this user namespace.
pub fn setgroups_none() -> io::Result<()> {
    // SAFETY: a size of 0 makes the kernel ignore the list pointer.
    checked(unsafe { libc::syscall(libc::SYS_setgroups, 0usize, std::ptr::null::<libc::gid_t>()) }).map(drop)
}

/// Sets real, effective and saved gid of this (only) thread.
pub fn setresgid(gid: u32) -> io::Result<()> {
    // SAFETY: plain integers; the raw call changes the calling thread alone, and this process has one thread.
    checked(unsafe { libc::syscall(libc::SYS_setresgid, gid, gid, gid) }).map(drop)
}

/// Sets real, effective and saved uid of this (only) thread.
pub fn setresuid(uid: u32) -> io::Result<()> {
    // SAFETY: plain integers; the raw call changes the calling thread alone, and this process has one thread.
    checked(unsafe { libc::syscall(libc::SYS_setresuid, uid, uid, uid) }).map(drop)
}

/// Joins a new anonymous session keyring (`KEYCTL_JOIN_SESSION_KEYRING`), so that the caller's keys are not reached.
pub fn keyctl_join_session_keyring() -> io::Result<()> {
    const KEYCTL_JOIN_SESSION_KEYRING: libc::c_ulong = 1;
    // SAFETY: a null name asks for an anonymous keyring; the kernel reads no memory of ours.
    checked(unsafe {
        libc::syscall(libc::SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>())
    })
    .map(drop)
}

/// Whether the kernel started this program with more rights than its caller has (`AT_SECURE`).
pub fn at_secure() -> bool {
    // SAFETY: getauxval reads the auxiliary vector that the kernel laid down at start; it takes no pointer.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}
