//! `seccomp(2)`, as far as asking needs it.

use std::io;

const GET_NOTIF_SIZES: libc::c_ulong = 3;
const SET_MODE_FILTER: libc::c_ulong = 1;
const NEW_LISTENER: libc::c_ulong = 1 << 3;

/// `SECCOMP_RET_USER_NOTIF`.
pub const USER_NOTIF: u32 = 0x7fc0_0000;
/// `SECCOMP_RET_ERRNO`.
pub const ERRNO: u32 = 0x0005_0000;

/// The kernel's sizes of a notification, of its response and of the syscall's data, in bytes.
///
/// # Errors
/// `EINVAL` before Linux 5.0, `ENOSYS` or `EPERM` behind a seccomp filter.
pub fn notif_sizes() -> io::Result<(u16, u16, u16)> {
    let (mut sizes, none) = ([0u16; 3], 0 as libc::c_ulong);
    // SAFETY: the kernel writes three u16 into `sizes`, which outlives the call.
    let result = unsafe { libc::syscall(libc::SYS_seccomp, GET_NOTIF_SIZES, none, sizes.as_mut_ptr()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok((sizes[0], sizes[1], sizes[2])) }
}

/// Installs a filter that allows everything, with a listener; gives the listener's number. It cannot be undone: for
/// children.
///
/// # Errors
/// `EBUSY` where the chain already has a listener, `EACCES` without `no_new_privs`, `EINVAL` before Linux 5.0.
pub fn listen_to_nothing() -> io::Result<i32> {
    const RETURN_ALLOW: libc::sock_filter = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0x7fff_0000 };
    let mut program = [RETURN_ALLOW];
    let filter = libc::sock_fprog { len: 1, filter: program.as_mut_ptr() };
    // SAFETY: the kernel copies `filter` and its one instruction during the call.
    let result =
        unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, NEW_LISTENER, &raw const filter) };
    match i32::try_from(result) {
        Ok(fd) if fd >= 0 => Ok(fd),
        _ => Err(io::Error::last_os_error()),
    }
}
