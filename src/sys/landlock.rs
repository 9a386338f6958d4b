//! landlock_create_ruleset(2), for its version only; the rest is the landlock crate's.

use super::checked;
use std::io;

/// The kernel's Landlock ABI. `ENOSYS`: not built in; `EOPNOTSUPP`: not in the boot list (`lsm=`).
pub fn abi() -> io::Result<u32> {
    const LANDLOCK_CREATE_RULESET_VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel takes no attributes: null and 0 say so.
    let version = checked(unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    })?;
    Ok(u32::try_from(version).unwrap_or(0))
}
