//! What `run` and `exec` share between their words and the supervisor.

use super::Io;
use crate::exit::Exit;
use crate::host::Host;
use crate::plan::{HostFacts, Plan};
use crate::policy::{Policy, units};
use crate::report::{Report, Timing};
use crate::supervisor::{Outcome, collect};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// A word of the command line that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// `--timeout` is no duration.
    #[error("--timeout: {0}")]
    Unit(#[from] units::UnitError),
    /// `--timeout` is out of range.
    #[error(
        "--timeout {asked} ms: the policy {policy:?} allows 1000 to {most} ms\nhint: the policy's limits.wall is the ceiling"
    )]
    Timeout {
        /// What was asked for.
        asked: u64,
        /// The ceiling.
        most: u64,
        /// The policy.
        policy: String,
    },
    /// `--session` or `--robot` is no opaque id.
    #[error(
        "{option} {id:?}: not 1 to 128 of [A-Za-z0-9._:@-]\nhint: an opaque id, such as the number of a conversation"
    )]
    Id {
        /// The option.
        option: &'static str,
        /// What was given.
        id: String,
    },
    /// A limit of `--warm` is no duration.
    #[error("{option}: {source}")]
    Ahead {
        /// The option.
        option: &'static str,
        /// Why.
        source: units::UnitError,
    },
    /// A limit of `--warm` is out of range.
    #[error("{option} {asked} ms: 1 to {most} ms")]
    AheadRange {
        /// The option.
        option: &'static str,
        /// What was asked for.
        asked: u64,
        /// The ceiling.
        most: u64,
    },
    /// `--cgroup` cannot be looked at.
    #[error(
        "--cgroup {path}: {source}\nhint: name a directory of /sys/fs/cgroup that is delegated to you (`skilljail doctor --cgroup DIR` judges one)"
    )]
    Cgroup {
        /// The directory.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// `--out` cannot be made or opened.
    #[error("--out {path}: {source}")]
    Out {
        /// The directory.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

/// The caller's settings, checked against the policy.
#[derive(Debug)]
pub struct Settings {
    /// The wall-clock limit.
    pub wall: Duration,
    out: Option<OwnedFd>,
}

impl Settings {
    /// Checks them.
    pub fn new(policy: &Policy, timeout: Option<&str>, out: Option<&Path>) -> Result<Self, LaunchError> {
        let limits = policy.limits();
        let millis = timeout.map_or(Ok(limits.wall_ms.value), units::millis)?;
        if !(1_000..=limits.wall_max_ms).contains(&millis) {
            let policy = policy.name().to_owned();
            return Err(LaunchError::Timeout { asked: millis, most: limits.wall_max_ms, policy });
        }
        let open = |path: &Path| {
            collect::open_destination(path)
                .map_err(|source| LaunchError::Out { path: path.display().to_string(), source })
        };
        Ok(Self { wall: Duration::from_millis(millis), out: out.map(open).transpose()? })
    }

    /// Collects the artifacts if that was asked for.
    pub fn collect(&self, outcome: &Outcome, plan: &Plan, report: &mut Report) {
        if let (Some(out), Some(workdir)) = (&self.out, &outcome.workdir) {
            report.artifacts = collect::collect(workdir.as_fd(), out.as_fd(), &plan.limits);
        }
    }
}

/// How long each step of the command took, before the supervisor's own.
#[derive(Debug)]
pub struct Laps {
    last: Instant,
    list: Vec<Timing>,
}

impl Default for Laps {
    fn default() -> Self {
        Self { last: Instant::now(), list: Vec::new() }
    }
}

impl Laps {
    /// A step is done.
    pub fn lap(&mut self, step: &'static str) {
        let now = Instant::now();
        self.list.push(Timing::new(step, now.saturating_duration_since(self.last)));
        self.last = now;
    }

    /// The command's steps and then the supervisor's.
    pub fn with(self, outcome: &Outcome) -> Vec<Timing> {
        let mut list = self.list;
        list.extend(outcome.timings.iter().map(|(step, took)| Timing::new(step, *took)));
        list
    }
}

/// Takes the owner's own rights out of the umask, which an odd caller has in it: who asks for a report, a log or
/// artifacts must be able to read them. What others may do stays as the caller wants it.
pub fn keep_owner_bits() {
    use nix::sys::stat::{Mode, umask};
    let old = umask(Mode::from_bits_truncate(0o077));
    umask(old & Mode::from_bits_truncate(0o077));
}

/// Checks what the script is told of its caller: the rule is that of `read --expand`.
pub fn check_ids(session: Option<&str>, robot: Option<&str>) -> Result<(), LaunchError> {
    for (option, id) in [("--session", session), ("--robot", robot)] {
        if let Some(id) = id.filter(|id| !crate::skill::body::opaque_id(id)) {
            return Err(LaunchError::Id { option, id: id.to_owned() });
        }
    }
    Ok(())
}

/// Whether there is something where `--cgroup` points to; what it is the supervisor judges.
pub fn check_cgroup(path: Option<&Path>) -> Result<(), LaunchError> {
    let Some(path) = path else { return Ok(()) };
    let failed = |source| LaunchError::Cgroup { path: path.display().to_string(), source };
    std::fs::metadata(path).map(drop).map_err(failed)
}

/// Tells a usage error.
pub fn usage(error: &(dyn std::error::Error + 'static), io: &mut Io<'_>) -> Exit {
    io.tell(error);
    Exit::Usage
}

/// What the plan needs to know of this host.
pub fn host_facts(host: &Host, cgroup: bool) -> HostFacts {
    HostFacts { euid: host.ids.euid, landlock_abi: host.landlock.abi(), cgroup }
}
