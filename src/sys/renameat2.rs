//! renameat2(2), which not every C library has.

use super::checked;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Renames, but never over something that is there.
///
/// # Errors
/// EEXIST: something is there; EINVAL: the file system knows no flags, or a path has a NUL.
pub fn no_replace(from: &Path, to: &Path) -> io::Result<()> {
    let c = |path: &Path| CString::new(path.as_os_str().as_bytes());
    let (from, to) = (c(from)?, c(to)?);
    // SAFETY: both paths end in NUL and outlive the call; the kernel only reads them.
    checked(unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            libc::RENAME_NOREPLACE,
        )
    })
    .map(drop)
}
