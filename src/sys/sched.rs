//! sched_getscheduler(2), sched_setscheduler(2).

use super::checked;
use std::io;

/// Leaves a real-time class that the caller was in: the kernel lets anybody step down.
pub fn leave_realtime() -> io::Result<()> {
    // SAFETY: 0 is the calling thread; no memory is touched.
    let policy = checked(unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) })?;
    // The highest bit is SCHED_RESET_ON_FORK.
    let policy = i32::try_from(policy & 0xff).unwrap_or(libc::SCHED_FIFO);
    if [libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE].contains(&policy) {
        return Ok(());
    }
    // The kernel's struct sched_param is this one int; some C libraries pad theirs.
    let priority: libc::c_int = 0;
    // SAFETY: the kernel reads one sched_param during the call.
    checked(unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_OTHER, &raw const priority) })
        .map(drop)
}
