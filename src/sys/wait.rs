//! wait4(2).

use std::io;

/// How a process ended, and what it used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The raw wait status; see `exit_code` and `signal`.
    pub status: i32,
    /// User and system time, in microseconds, of it and of the children that it waited for.
    pub cpu_us: u64,
    /// The highest resident set size, in KiB, of it or of one of those children.
    pub max_rss_kib: u64,
}

impl Ended {
    /// The exit code, when it exited.
    pub fn exit_code(self) -> Option<u8> {
        libc::WIFEXITED(self.status).then(|| u8::try_from(libc::WEXITSTATUS(self.status)).unwrap_or(u8::MAX))
    }

    /// The signal, when one ended it.
    pub fn signal(self) -> Option<i32> {
        libc::WIFSIGNALED(self.status).then(|| libc::WTERMSIG(self.status))
    }
}

/// Waits for `pid` (or any child, with -1) and returns its pid. Restarts on `EINTR`.
pub fn wait4(pid: i32) -> io::Result<(i32, Ended)> {
    let mut status = 0;
    // SAFETY: rusage is plain old data for which all-zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: the kernel writes one int and one rusage into memory that outlives the call.
        let ret = unsafe { libc::wait4(pid, &raw mut status, libc::__WALL, &raw mut usage) };
        if ret >= 0 {
            let micros = |t: libc::timeval| {
                u64::try_from(t.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(t.tv_usec).unwrap_or(0)
            };
            let cpu_us = micros(usage.ru_utime) + micros(usage.ru_stime);
            let max_rss_kib = u64::try_from(usage.ru_maxrss).unwrap_or(0);
            return Ok((ret, Ended { status, cpu_us, max_rss_kib }));
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINTR) {
            return Err(error);
        }
    }
}
