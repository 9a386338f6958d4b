//! The mount API of Linux 5.2 and later: fsopen(2), fsconfig(2), fsmount(2), open_tree(2), mount_setattr(2),
//! move_mount(2), pivot_root(2), umount2(2).

use super::checked;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// Mount attributes, as mount_setattr(2) and fsmount(2) name them.
pub mod attr {
    /// Read-only.
    pub const RDONLY: u64 = libc::MOUNT_ATTR_RDONLY;
    /// Set-user-ID bits and file capabilities mean nothing.
    pub const NOSUID: u64 = libc::MOUNT_ATTR_NOSUID;
    /// Device nodes cannot be opened.
    pub const NODEV: u64 = libc::MOUNT_ATTR_NODEV;
    /// Nothing is executed or mapped executable.
    pub const NOEXEC: u64 = libc::MOUNT_ATTR_NOEXEC;
}

fn owned(ret: libc::c_long) -> OwnedFd {
    // SAFETY: every caller passes the checked result of a system call that returns a new descriptor.
    unsafe { OwnedFd::from_raw_fd(i32::try_from(ret).unwrap_or(-1)) }
}

/// Opens a file system context.
pub fn fsopen(kind: &CStr) -> io::Result<OwnedFd> {
    const FSOPEN_CLOEXEC: libc::c_uint = 1;
    // SAFETY: `kind` is NUL-terminated and the kernel copies it.
    checked(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FSOPEN_CLOEXEC) }).map(owned)
}

/// Sets one string parameter of the context.
pub fn fsconfig_set_string(fs: BorrowedFd<'_>, key: &CStr, value: &CStr) -> io::Result<()> {
    const FSCONFIG_SET_STRING: libc::c_uint = 1;
    // SAFETY: both strings are NUL-terminated and the kernel copies them.
    checked(unsafe {
        libc::syscall(
            libc::SYS_fsconfig,
            fs.as_raw_fd(),
            FSCONFIG_SET_STRING,
            key.as_ptr(),
            value.as_ptr(),
            0,
        )
    })
    .map(drop)
}

/// Creates the superblock.
pub fn fsconfig_create(fs: BorrowedFd<'_>) -> io::Result<()> {
    const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: the command takes no key and no value; null says so.
    checked(unsafe { libc::syscall(libc::SYS_fsconfig, fs.as_raw_fd(), FSCONFIG_CMD_CREATE, none, none, 0) })
        .map(drop)
}

/// Makes a detached mount of the created superblock.
pub fn fsmount(fs: BorrowedFd<'_>, attributes: u64) -> io::Result<OwnedFd> {
    const FSMOUNT_CLOEXEC: libc::c_uint = 1;
    // SAFETY: plain integers.
    checked(unsafe { libc::syscall(libc::SYS_fsmount, fs.as_raw_fd(), FSMOUNT_CLOEXEC, attributes) })
        .map(owned)
}

/// A detached copy of the mount tree at `path` beneath `dir` (`OPEN_TREE_CLONE | AT_RECURSIVE`); an empty path
/// means `dir` itself.
pub fn open_tree_clone(dir: i32, path: &CStr) -> io::Result<OwnedFd> {
    let flags = libc::OPEN_TREE_CLONE
        | libc::OPEN_TREE_CLOEXEC
        | libc::AT_RECURSIVE as libc::c_uint
        | libc::AT_EMPTY_PATH as libc::c_uint;
    // SAFETY: `path` is NUL-terminated and the kernel copies it.
    checked(unsafe { libc::syscall(libc::SYS_open_tree, dir, path.as_ptr(), flags) }).map(owned)
}

/// Sets attributes on the mount `fd` is, and on every mount below it.
pub fn mount_setattr_recursive(fd: BorrowedFd<'_>, attributes: u64) -> io::Result<()> {
    setattr(fd, attributes, libc::AT_RECURSIVE | libc::AT_EMPTY_PATH)
}

/// Sets attributes on the mount `fd` is, alone.
pub fn mount_setattr(fd: BorrowedFd<'_>, attributes: u64) -> io::Result<()> {
    setattr(fd, attributes, libc::AT_EMPTY_PATH)
}

fn setattr(fd: BorrowedFd<'_>, attributes: u64, flags: i32) -> io::Result<()> {
    let attr = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: the path is a NUL-terminated constant, `attr` outlives the call, and its true size is passed.
    checked(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            fd.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attr,
            std::mem::size_of::<libc::mount_attr>(),
        )
    })
    .map(drop)
}

/// Attaches a detached mount at `path` beneath `dir`; an empty path means `dir` itself. Symlinks are not followed.
pub fn move_mount(mount: BorrowedFd<'_>, dir: i32, path: &CStr) -> io::Result<()> {
    const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 0x4;
    const MOVE_MOUNT_T_EMPTY_PATH: libc::c_uint = 0x40;
    // SAFETY: both paths are NUL-terminated and the kernel copies them.
    checked(unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            mount.as_raw_fd(),
            c"".as_ptr(),
            dir,
            path.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH,
        )
    })
    .map(drop)
}

/// Makes every mount of this namespace private: nothing propagates in or out.
pub fn make_all_private() -> io::Result<()> {
    let attr = libc::mount_attr { attr_set: 0, attr_clr: 0, propagation: libc::MS_PRIVATE, userns_fd: 0 };
    // SAFETY: the path is a NUL-terminated constant, `attr` outlives the call, and its true size is passed.
    checked(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            c"/".as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attr,
            std::mem::size_of::<libc::mount_attr>(),
        )
    })
    .map(drop)
}

/// Makes the current directory the root, stacking the old root on top of it (`pivot_root(".", ".")`), then
/// detaches the old root and everything that is mounted in it.
pub fn pivot_root_here() -> io::Result<()> {
    // SAFETY: NUL-terminated constants.
    checked(unsafe { libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()) })?;
    // SAFETY: a NUL-terminated constant; "." is the old root now, see pivot_root(2).
    checked(unsafe { libc::c_long::from(libc::umount2(c".".as_ptr(), libc::MNT_DETACH)) })?;
    // SAFETY: a NUL-terminated constant.
    checked(unsafe { libc::c_long::from(libc::chdir(c"/".as_ptr())) }).map(drop)
}
