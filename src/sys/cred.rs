//! setgroups(2), setresuid(2), setresgid(2).

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
