//! `execveat(2)`: the one exec that the filter lets through.

use crate::seccomp::{EXEC_FD, EXEC_PATH};
use std::ffi::c_char;
use std::io;

/// Puts an empty string at [`EXEC_PATH`]: one page of zeros that can only be read. To be called in the child before
/// the filter stands. Allocates nothing.
///
/// # Errors
/// EEXIST: something is mapped there; EPERM: `vm.mmap_min_addr` is above it.
pub fn map_empty_path() -> io::Result<()> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    let wanted = EXEC_PATH as *mut libc::c_void;
    // SAFETY: FIXED_NOREPLACE never touches a mapping that is there; the page belongs to nobody's memory.
    let page = unsafe { libc::mmap(wanted, 4096, libc::PROT_READ, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    if page != wanted {
        // Before 4.17 the flag is unknown and the address a mere hint.
        return Err(io::Error::from_raw_os_error(libc::EEXIST));
    }
    Ok(())
}

/// Executes what is open at [`EXEC_FD`]; returns only if that failed. [`map_empty_path`] must have been called.
///
/// # Safety
/// `argv` and `envp` are arrays of pointers to C strings that end with null, all alive during the call.
pub unsafe fn exec(argv: *const *const c_char, envp: *const *const c_char) -> io::Error {
    // SAFETY: the caller vouches for the arrays; the path is the page that `map_empty_path` made. If it did not, the
    // kernel answers EFAULT.
    unsafe {
        libc::syscall(libc::SYS_execveat, EXEC_FD, EXEC_PATH as *const c_char, argv, envp, libc::AT_EMPTY_PATH);
    }
    io::Error::last_os_error()
}
