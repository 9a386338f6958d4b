//! `PR_GET_SECCOMP` of `prctl(2)`.

/// The calling thread's seccomp mode: 0 none, 2 filter. (In mode 1 the question itself would kill.)
pub fn seccomp_mode() -> u8 {
    let zero: libc::c_ulong = 0;
    // SAFETY: the option takes no pointer.
    let mode = unsafe { libc::prctl(libc::PR_GET_SECCOMP, zero, zero, zero, zero) };
    u8::try_from(mode).unwrap_or(0)
}
