//! `getauxval(3)`.

/// Whether the kernel started this process in secure mode: setuid, setgid, file capabilities, or an LSM's wish.
pub fn at_secure() -> bool {
    // SAFETY: reads the auxiliary vector that libc saved at start; takes no pointer.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}
