//! `statx(2)`, for one question.

/// Whether `/` is the root of a mount; `None` where the kernel does not say (before Linux 5.8). In a chroot it is not.
pub fn root_is_mount() -> Option<bool> {
    let wanted = u64::try_from(libc::STATX_ATTR_MOUNT_ROOT).ok()?;
    // SAFETY: `statx` is plain numbers, for which all zeros is a value.
    let mut found: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: the path is a NUL-terminated literal; the kernel writes into `found` during the call.
    let result =
        unsafe { libc::statx(libc::AT_FDCWD, c"/".as_ptr(), 0, libc::STATX_BASIC_STATS, &raw mut found) };
    (result == 0 && found.stx_attributes_mask & wanted != 0).then_some(found.stx_attributes & wanted != 0)
}
