//! execveat(2) on a descriptor, and _exit(2).

use std::ffi::{CStr, CString};
use std::io;

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

/// Executes the file that `fd` is, without a path (`AT_EMPTY_PATH`). Returns only when it failed.
pub fn execveat(fd: i32, argv: &CVector, envp: &CVector) -> io::Error {
    const EMPTY: &CStr = c"";
    // SAFETY: both vectors are NULL-terminated arrays of pointers to NUL-terminated strings that `argv` and `envp`
    // own and that outlive the call (usize and pointers have the same layout); on success this memory is gone.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            fd,
            EMPTY.as_ptr(),
            argv.pointers.as_ptr(),
            envp.pointers.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    io::Error::last_os_error()
}

/// Ends this process at once: no destructors, no atexit handlers, which belong to the process it was cloned from.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: exit_group never returns and touches no memory.
    unsafe { libc::_exit(code) }
}
