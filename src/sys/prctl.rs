//! prctl(2): the operations that the jail needs.

use super::checked;
use std::io;

fn prctl(operation: libc::c_int, arg2: libc::c_ulong) -> io::Result<libc::c_long> {
    let zero: libc::c_ulong = 0;
    // SAFETY: each operation used in this file takes integers alone.
    checked(unsafe { libc::c_long::from(libc::prctl(operation, arg2, zero, zero, zero)) })
}

/// The signal that this process gets when its parent thread ends. A change of uid clears it.
pub fn set_pdeathsig(signal: i32) -> io::Result<()> {
    prctl(libc::PR_SET_PDEATHSIG, libc::c_ulong::from(signal.unsigned_abs())).map(drop)
}

/// Whether core dumps and ptrace by the same uid are possible.
pub fn set_dumpable(dumpable: bool) -> io::Result<()> {
    prctl(libc::PR_SET_DUMPABLE, libc::c_ulong::from(dumpable)).map(drop)
}

/// `execve` gives no new privileges from here on, in this process and all that it starts; cannot be undone.
pub fn set_no_new_privs() -> io::Result<()> {
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map(drop)
}

/// Whether `no_new_privs` is set.
pub fn no_new_privs() -> io::Result<bool> {
    prctl(libc::PR_GET_NO_NEW_PRIVS, 0).map(|value| value == 1)
}

/// Sets and locks the secure bits: uid 0 means nothing to capabilities, ambient ones cannot be raised.
pub fn lock_securebits() -> io::Result<()> {
    const NOROOT: libc::c_ulong = 1 << 0;
    const NO_SETUID_FIXUP: libc::c_ulong = 1 << 2;
    const NO_CAP_AMBIENT_RAISE: libc::c_ulong = 1 << 6;
    let bits = NOROOT | NO_SETUID_FIXUP | NO_CAP_AMBIENT_RAISE;
    // Each bit has its lock one place to the left; KEEP_CAPS stays clear and is locked so.
    prctl(libc::PR_SET_SECUREBITS, bits | (bits << 1) | (1 << 5)).map(drop)
}

/// Drops one capability from the bounding set. `EINVAL` says that this kernel has no such capability.
pub fn drop_bounding(capability: u32) -> io::Result<()> {
    prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(capability)).map(drop)
}

/// Whether this kernel has this capability at all.
pub fn is_capability(capability: u32) -> bool {
    let read = prctl(libc::PR_CAPBSET_READ, libc::c_ulong::from(capability));
    !read.is_err_and(|error| error.raw_os_error() == Some(libc::EINVAL))
}

/// Clears the ambient set.
pub fn clear_ambient() -> io::Result<()> {
    prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong).map(drop)
}

/// Empties the permitted, effective and inheritable capability sets of this thread (capset(2)).
pub fn clear_capabilities() -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header { version: VERSION_3, pid: 0 };
    let data = [[0u32; 3]; 2];
    // SAFETY: version 3 takes a header and two triples of 32-bit words, laid out as here; the kernel reads both
    // during the call only.
    checked(unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) }).map(drop)
}

/// The permitted and effective capability sets of this thread as the kernel holds them (capget(2)).
pub fn capabilities() -> io::Result<(u64, u64)> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let mut header = Header { version: VERSION_3, pid: 0 };
    let mut data = [[0u32; 3]; 2];
    // SAFETY: as in `clear_capabilities`, and the kernel writes both triples into memory that we hold.
    checked(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, data.as_mut_ptr()) })?;
    let [[effective_low, permitted_low, _], [effective_high, permitted_high, _]] = data;
    let join = |high: u32, low: u32| (u64::from(high) << 32) | u64::from(low);
    Ok((join(permitted_high, permitted_low), join(effective_high, effective_low)))
}
