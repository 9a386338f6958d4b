//! The processor time of the payload, by the kernel's precise clock of that process.
//!
//! RLIMIT_CPU counts by the clock tick, which on a busy machine is wrong by a tenth, and its SIGKILL looks like any
//! other: so the supervisor keeps the limit, and the rlimit lies above it, for the time when the supervisor is stopped.

use crate::layer::rlimits::cpu_backstop;
use crate::sys::rlimit;
use nix::time::ClockId;
use nix::unistd::Pid;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::{Duration, Instant};

/// Looking more often than this costs more than it tells.
const SHORTEST_LOOK: Duration = Duration::from_millis(5);

/// The limit that is kept: the policy's, or less where the caller's own hard limit would strike before.
pub fn bound(policy_s: u64) -> Duration {
    let policy = Duration::from_secs(policy_s);
    match rlimit::get(libc::RLIMIT_CPU) {
        // By as much below as the tick may be wrong.
        Ok((_, hard)) if hard < cpu_backstop(policy_s) => policy.min(Duration::from_millis(hard * 800)),
        _ => policy,
    }
}

/// A process's clock, and how much of it may be used.
#[derive(Debug)]
pub struct CpuClock {
    clock: ClockId,
    bound: Duration,
    parallel: u32,
    look: Instant,
}

impl CpuClock {
    /// The clock of the process that a pidfd names.
    ///
    /// # Errors
    /// ESRCH: it is gone; what reading `/proc/self/fdinfo` may fail with.
    pub fn of(pidfd: BorrowedFd<'_>, bound: Duration) -> io::Result<Self> {
        let pid = pid_here(pidfd)?;
        let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(pid))?;
        Ok(Self { clock, bound, parallel: processors(), look: Instant::now() })
    }

    /// What was used so far does not count.
    pub fn restart(&mut self) {
        if let Ok(used) = self.clock.now() {
            self.bound += Duration::from(used);
        }
    }

    /// Whether nothing is left. The clock is read only when that can be, and not of a process that is gone.
    pub fn is_used_up(&mut self) -> bool {
        let now = Instant::now();
        if now < self.look {
            return false;
        }
        let left = self.left();
        // It can be used up at the earliest with a thread on each processor.
        self.look = now + (left.unwrap_or(self.bound) / self.parallel).max(SHORTEST_LOOK);
        left == Some(Duration::ZERO)
    }

    /// When to ask again.
    pub fn next_look(&self) -> Duration {
        self.look.saturating_duration_since(Instant::now())
    }

    /// How much is left; `None` when the process is gone.
    fn left(&self) -> Option<Duration> {
        let used = Duration::from(self.clock.now().ok()?);
        Some(self.bound.saturating_sub(used))
    }
}

/// How many processors the payload can use at once. Not what std says, which reads the cgroup's quota from four files: a
/// number that is too high only lets us look too early.
fn processors() -> u32 {
    let set = nix::sched::sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    let count = (0..nix::sched::CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).count();
    u32::try_from(count).unwrap_or(u32::MAX).max(1)
}

/// The process's number in our own pid namespace, by which a clock is named; `/proc` may be that of one further out.
fn pid_here(pidfd: BorrowedFd<'_>) -> io::Result<i32> {
    let gone = || io::Error::from_raw_os_error(libc::ESRCH);
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd()))?;
    // One number a namespace, from that of `/proc` inwards (proc(5)); ours is as many in as we are.
    let ours = if std::fs::read_link("/proc/self")?.as_os_str() == std::process::id().to_string().as_str() {
        0
    } else {
        numbers(&std::fs::read_to_string("/proc/self/status")?).len().saturating_sub(1)
    };
    numbers(&info).get(ours).copied().filter(|pid| *pid > 0).ok_or_else(gone)
}

fn numbers(text: &str) -> Vec<i32> {
    let line = text.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    line.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::CpuClock;
    use crate::sys::clone3::{Cloned, clone3};
    use std::os::fd::AsFd as _;
    use std::time::Duration;

    #[test]
    fn a_busy_process_uses_its_time_up_and_a_dead_one_has_no_clock() {
        let Cloned::Parent { pid, pidfd } = clone3(0, None).unwrap() else {
            loop {
                std::hint::spin_loop();
            }
        };
        let mut clock = CpuClock::of(pidfd.as_fd(), Duration::from_millis(50)).unwrap();
        while !clock.is_used_up() {
            std::thread::sleep(clock.next_look());
        }
        assert_eq!(clock.left(), Some(Duration::ZERO));
        crate::sys::pidfd::kill(pidfd.as_fd()).unwrap();
        crate::sys::wait::wait4(pid).unwrap();
        assert_eq!(clock.left(), None);
        assert!(CpuClock::of(pidfd.as_fd(), Duration::from_secs(1)).is_err());
    }
}
