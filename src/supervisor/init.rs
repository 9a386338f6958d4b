//! PID 1 of the jail: reaps, tells how the payload ended, and takes everything down by leaving.
//!
//! It never held a secret, cannot be traced by the payload, and has a filter that knows little more than wait4.

use super::channel;
use crate::layer::fds::CHANNEL_FD;
use crate::layer::{ApplyError, Prepared, seccomp};
use crate::sys::exit_group::exit_now;
use crate::sys::{fd, madvise, prctl, wait};

/// Runs until the payload (`pid`) ends. When this process leaves, the kernel kills what is left in the namespace.
pub fn run(prepared: &Prepared, pid: i32) -> ! {
    if let Err(error) = seal(prepared) {
        drop(channel::send_failed(CHANNEL_FD, &error));
        exit_now(1)
    }
    // The payload waits for this word: a jail whose init cannot seal itself has run nothing.
    if channel::send_init_sealed(CHANNEL_FD).is_err() {
        exit_now(1)
    }
    let ended = reap(pid);
    // Nobody to tell when this fails: the supervisor, if it lives, sees the end of file.
    drop(channel::send_ended(CHANNEL_FD, ended));
    exit_now(0)
}

fn seal(prepared: &Prepared) -> Result<(), ApplyError> {
    let failed = |step| {
        move |error: std::io::Error| ApplyError { layer: "init", step, errno: crate::sys::errno(&error) }
    };
    prctl::set_dumpable(false).map_err(failed("prctl(PR_SET_DUMPABLE)"))?;
    for number in 0..CHANNEL_FD {
        fd::close(number);
    }
    fd::close_range(CHANNEL_FD.unsigned_abs() + 1, u32::MAX).map_err(failed("close_range"))?;
    // It waits from here on, and needs little of this program for that.
    madvise::let_go_of_code();
    seccomp::seal_init(&prepared.seccomp)
}

fn reap(payload: i32) -> wait::Ended {
    loop {
        match wait::wait4(-1) {
            Ok((pid, ended)) if pid == payload => return ended,
            Ok(_) => {}
            // No child left, which the payload would be: nothing to tell.
            Err(_) => exit_now(1),
        }
    }
}
