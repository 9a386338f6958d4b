//! How a run ended, as plain facts; the report says it.

use crate::egress;
use crate::layer::{ApplyError, Facts};
use crate::notify::denials::Denials;
use crate::sys::wait::Ended;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Why the supervisor killed the jail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillReason {
    /// The wall-clock deadline.
    Timeout,
    /// The processor time.
    Cpu,
    /// More stdout than the policy allows.
    Stdout,
    /// More stderr than the policy allows.
    Stderr,
    /// Too many denied calls.
    Denials,
    /// The supervisor got this signal.
    Cancelled(i32),
    /// Started ahead, and it did not wait for its input in time.
    Unready,
    /// Started ahead, and no input came in time.
    Idle,
    /// Started ahead, and the caller's end of stdin was closed without an input.
    Abandoned,
}

/// The end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The payload ended by itself, or by a signal that the supervisor did not send.
    Ended(Ended),
    /// The supervisor ended it.
    Killed(KillReason),
    /// Init was killed by somebody else: the kernel's OOM killer, or an operator. The signal.
    InitDied(Option<i32>),
    /// Nothing of the payload ran. Layer, step, errno.
    SetupFailed {
        /// The layer.
        layer: String,
        /// The step.
        step: String,
        /// The kernel's answer.
        errno: i32,
    },
    /// The supervisor could not go on while the payload ran, and ended it.
    SupervisorFailed {
        /// What it could not do.
        step: &'static str,
        /// The kernel's answer.
        errno: i32,
    },
    /// The secrets that the skill needs were not all there: nothing of the payload ran.
    SecretsRefused(String),
    /// The input that came to a jail that was started ahead is not what the contract takes: it was not handed over.
    InputRejected(String),
}

/// What the cgroup counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CgroupCounts {
    /// Times that the kernel killed in it for want of memory.
    pub oom_kills: u64,
    /// Times that a fork was refused by pids.max.
    pub pids_max: u64,
    /// memory.peak, where the kernel has it.
    pub memory_peak: Option<u64>,
}

/// What is known after the end.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// stdout, whole, or what came before its cap.
    pub stdout: Vec<u8>,
    /// How many bytes of it were passed on as they came.
    pub stdout_passed_on: usize,
    /// Bytes that were written to stdout, as far as they were read.
    pub stdout_bytes: u64,
    /// The tail of stderr.
    pub stderr: Vec<u8>,
    /// Bytes that were written to stderr, as far as they were read.
    pub stderr_bytes: u64,
    /// Wall-clock time from exec to the end; zero when it never came to exec.
    pub wall: Duration,
    /// How long it might have been.
    pub wall_limit: Duration,
    /// From the first step of set-up to exec.
    pub setup: Duration,
    /// What the whole jail used, by wait4 on init.
    pub used: Option<Ended>,
    /// What only the child knew; `None` when it did not come that far.
    pub facts: Option<Facts>,
    /// What was refused.
    pub denials: Denials,
    /// How long each step of the start took.
    pub timings: Vec<(&'static str, Duration)>,
    /// What went before the input of a run that was started ahead.
    pub warm: Option<super::warm::Facts>,
    /// Lookups, connections and refusals, and how many there were in all.
    pub egress: egress::Account,
    /// The root of the workdir's tmpfs, readable though the jail is gone.
    pub workdir: Option<OwnedFd>,
    /// What the cgroup counted, where there was one.
    pub cgroup: Option<CgroupCounts>,
}

impl Outcome {
    /// An outcome of a set-up that did not come to clone.
    pub(super) fn setup_failed(error: ApplyError, started: Instant, wall_limit: Duration) -> Self {
        Self {
            end: End::SetupFailed {
                layer: error.layer.to_owned(),
                step: error.step.to_owned(),
                errno: error.errno,
            },
            stdout: Vec::new(),
            stdout_passed_on: 0,
            stdout_bytes: 0,
            stderr: Vec::new(),
            stderr_bytes: 0,
            wall: Duration::ZERO,
            wall_limit,
            setup: started.elapsed(),
            used: None,
            facts: None,
            denials: Denials::new(0, 1),
            timings: Vec::new(),
            warm: None,
            egress: egress::Account::default(),
            workdir: None,
            cgroup: None,
        }
    }
}
