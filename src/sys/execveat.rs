//! `execveat(2)`: the one exec that the filter lets through.

use crate::seccomp::{EXEC_FD, EXEC_PATH};
use std::ffi::{CString, c_char};
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

/// Pointers of a NULL-terminated C vector, made ready before clone, so that nothing is allocated after it.
#[derive(Debug)]
pub struct CVector {
    // Owns what the pointers point to.
    strings: Vec<CString>,
    pointers: Vec<usize>,
}

impl CVector {
    /// Takes the strings and lays out the pointer array.
    pub fn new(strings: Vec<CString>) -> Self {
        let mut pointers: Vec<usize> = strings.iter().map(|s| s.as_ptr() as usize).collect();
        pointers.push(0);
        Self { strings, pointers }
    }

    /// The strings.
    pub fn strings(&self) -> &[CString] {
        &self.strings
    }
}

/// Executes what is open at [`EXEC_FD`]; returns only if that failed. [`map_empty_path`] must have been called: without
/// it the kernel answers EFAULT.
pub fn exec(argv: &CVector, envp: &CVector) -> io::Error {
    // SAFETY: both vectors are NULL-terminated arrays of pointers to NUL-terminated strings that `argv` and `envp` own
    // and that outlive the call (usize and pointers have the same layout); on success this memory is gone.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            EXEC_FD,
            EXEC_PATH as *const c_char,
            argv.pointers.as_ptr(),
            envp.pointers.as_ptr(),
            libc::AT_EMPTY_PATH,
        );
    }
    io::Error::last_os_error()
}
