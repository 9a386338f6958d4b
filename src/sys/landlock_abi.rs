//! `landlock_create_ruleset(2)` and `landlock_restrict_self(2)`, as far as asking needs them.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

const VERSION: libc::c_ulong = 1;
/// `LANDLOCK_ACCESS_FS_EXECUTE`: known to every ABI.
const EXECUTE: u64 = 1;

/// The kernel's Landlock ABI, 1 or more.
///
/// # Errors
/// `ENOSYS`: not compiled in, or hidden by a seccomp filter. `EOPNOTSUPP`: compiled in, not in the boot's `lsm=` list.
pub fn abi() -> io::Result<u32> {
    let attributes: *const u64 = std::ptr::null();
    // SAFETY: with the VERSION flag the kernel wants a null pointer and size 0, and reads nothing.
    let result = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, attributes, 0usize, VERSION) };
    u32::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Restricts the calling thread by a ruleset that handles EXECUTE and allows nothing. It cannot be undone: for children.
///
/// # Errors
/// `EPERM` without `no_new_privs`, `E2BIG` over 16 stacked rulesets, and those of [`abi`].
pub fn restrict_execute() -> io::Result<()> {
    let handled: u64 = EXECUTE;
    // SAFETY: the kernel reads 8 bytes of `handled`, which outlives the call; later kernels accept the short struct.
    let result = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            &raw const handled,
            size_of::<u64>(),
            0 as libc::c_ulong,
        )
    };
    let fd = i32::try_from(result).map_err(|_| io::Error::last_os_error())?;
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just made this descriptor for us; nobody else knows its number.
    let ruleset = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: takes a descriptor and flags, no pointer.
    let result =
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0 as libc::c_ulong) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
