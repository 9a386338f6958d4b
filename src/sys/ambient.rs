//! Keeping capabilities over execve(2): capset(2), `PR_CAP_AMBIENT_RAISE`. For the laboratory alone.

use super::{checked, prctl};
use std::io;

/// Makes every permitted capability inheritable and ambient, so that the program executed next has them all.
///
/// # Errors
/// `EPERM`: the secure bits forbid it.
pub fn keep_all() -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let (permitted, _) = prctl::capabilities()?;
    let (low, high) = ((permitted & 0xffff_ffff) as u32, (permitted >> 32) as u32);
    let header = Header { version: VERSION_3, pid: 0 };
    // effective, permitted, inheritable; of the lower and of the upper half.
    let data = [[low; 3], [high; 3]];
    // SAFETY: version 3 takes a header and two triples of 32-bit words, laid out as here; the kernel reads both
    // during the call only.
    checked(unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) })?;
    for capability in (0u32..64).filter(|capability| permitted & (1 << capability) != 0) {
        let (raise, zero): (libc::c_ulong, libc::c_ulong) = (libc::PR_CAP_AMBIENT_RAISE as libc::c_ulong, 0);
        let capability = libc::c_ulong::from(capability);
        // SAFETY: takes integers alone.
        checked(unsafe {
            libc::c_long::from(libc::prctl(libc::PR_CAP_AMBIENT, raise, capability, zero, zero))
        })?;
    }
    Ok(())
}
