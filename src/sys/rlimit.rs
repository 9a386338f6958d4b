//! prlimit(2) on the calling process.

use super::checked;
use std::io;

/// The type of `RLIMIT_*`, which C libraries disagree on; the kernel takes an unsigned int.
#[cfg(target_env = "musl")]
pub type Resource = libc::c_int;
/// The type of `RLIMIT_*`, which C libraries disagree on; the kernel takes an unsigned int.
#[cfg(not(target_env = "musl"))]
pub type Resource = libc::__rlimit_resource_t;

/// The soft and hard value of a limit; `u64::MAX` is "unlimited".
pub fn get(resource: Resource) -> io::Result<(u64, u64)> {
    let mut limit = [0u64; 2];
    // SAFETY: a null new limit means "only ask"; the kernel writes one rlimit64 (two u64) into `limit`.
    checked(unsafe {
        libc::syscall(libc::SYS_prlimit64, 0, resource, std::ptr::null::<u64>(), limit.as_mut_ptr())
    })?;
    let [soft, hard] = limit;
    Ok((soft, hard))
}

/// Sets soft and hard value. `EPERM` when that would raise the hard one.
pub fn set(resource: Resource, soft: u64, hard: u64) -> io::Result<()> {
    let limit = [soft, hard];
    // SAFETY: the kernel reads one rlimit64 (two u64) from `limit`; a null old limit means "do not tell".
    checked(unsafe {
        libc::syscall(libc::SYS_prlimit64, 0, resource, limit.as_ptr(), std::ptr::null_mut::<u64>())
    })
    .map(drop)
}
