//! Resource limits (getrlimit(2)), soft and hard alike, so that nothing inside can move them.

use super::{ApplyError, Layer, Step as _};
use crate::policy::{Bound, Limits};
use crate::seccomp::MAX_ADDRESS_SPACE;
use crate::sys::{rlimit, sched};
use serde::Serialize;

/// One limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// Its name without `RLIMIT_`, in lower case.
    pub name: &'static str,
    /// The kernel's number of it.
    #[serde(skip)]
    pub resource: rlimit::Resource,
    /// Soft and hard value.
    pub value: u64,
    /// Why this much.
    pub reason: String,
}

/// All limits that are set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// In the order in which they are set.
    pub limits: Vec<Limit>,
}

/// Where the kernel's own cpu limit lies, in seconds: it counts by the tick, so far above the supervisor's that the two
/// are never confused.
pub fn cpu_backstop(cpu_s: u64) -> u64 {
    cpu_s.saturating_add(cpu_s / 4).saturating_add(1)
}

impl Plan {
    /// The kernel's own cpu limit counts from exec, and so the time before the input of a run that is started ahead too, for
    /// which the supervisor has a bound as large as the run's.
    pub fn start_ahead(&mut self, limits: &Limits) {
        if let Some(cpu) = self.limits.iter_mut().find(|limit| limit.name == "cpu") {
            cpu.value = cpu_backstop(limits.cpu_s.value.saturating_mul(2));
        }
    }
}

/// `address_space`: whether memory is bounded by RLIMIT_AS (there is no cgroup that bounds it).
pub fn plan(limits: &Limits, address_space: bool) -> Plan {
    let of = |name, resource, value, reason: &str| Limit { name, resource, value, reason: reason.to_owned() };
    let from = |name, resource, bound: &Bound| of(name, resource, bound.value, &bound.reason);
    // Init counts too: the kernel counts per user namespace and uid. Where a cgroup counts, the rlimit lies above it: the
    // kernel asks the rlimit first, and only the cgroup tells that it refused.
    let above = if address_space { 0 } else { 16 };
    let mut list = vec![
        of(
            "cpu",
            libc::RLIMIT_CPU,
            cpu_backstop(limits.cpu_s.value),
            "the supervisor keeps the policy's limit; this holds if it is stopped",
        ),
        from("fsize", libc::RLIMIT_FSIZE, &limits.file_bytes),
        of("nproc", libc::RLIMIT_NPROC, limits.threads.value + 1 + above, &limits.threads.reason),
        of("core", libc::RLIMIT_CORE, 1, "0 does not stop a core_pattern that is a pipe; 1 stops both kinds"),
        of("memlock", libc::RLIMIT_MEMLOCK, 64 << 10, "nothing in a skill needs locked memory"),
        of("msgqueue", libc::RLIMIT_MSGQUEUE, 0, "POSIX queues are kernel memory that nothing else counts"),
        of("sigpending", libc::RLIMIT_SIGPENDING, 256, "queued signals are kernel memory"),
        of("stack", libc::RLIMIT_STACK, 8 << 20, "what Python's recursion limit is made for"),
        of("nice", libc::RLIMIT_NICE, 0, "no priority above the caller's"),
        of("rtprio", libc::RLIMIT_RTPRIO, 0, "no real-time scheduling"),
    ];
    // Always finite: the filter's rule for the one exec rests on it (see `MAX_ADDRESS_SPACE`).
    list.push(if address_space {
        from("as", libc::RLIMIT_AS, &limits.memory_bytes)
    } else {
        of(
            "as",
            libc::RLIMIT_AS,
            MAX_ADDRESS_SPACE,
            "memory is the cgroup's to count; this keeps the exec rule's address out of reach",
        )
    });
    // Last: it makes EXEC_FD a number that nobody can make again.
    list.push(from("nofile", libc::RLIMIT_NOFILE, &limits.open_files));
    Plan { limits: list }
}

/// Sets them all. A hard limit of the caller's that is lower already stays: it is stricter, and cannot be raised.
pub(super) fn apply(plan: &Plan) -> Result<(), ApplyError> {
    // RLIMIT_RTPRIO 0 only keeps it from entering such a class; a caller may have been in one.
    sched::leave_realtime().step(Layer::Rlimits, "sched_setscheduler(SCHED_OTHER)")?;
    for limit in &plan.limits {
        let (_, hard) = rlimit::get(limit.resource).step(Layer::Rlimits, "prlimit: ask")?;
        let value = limit.value.min(hard);
        rlimit::set(limit.resource, value, value).step(Layer::Rlimits, step(limit.name))?;
    }
    Ok(())
}

fn step(name: &str) -> &'static str {
    match name {
        "cpu" => "prlimit(RLIMIT_CPU)",
        "fsize" => "prlimit(RLIMIT_FSIZE)",
        "nproc" => "prlimit(RLIMIT_NPROC)",
        "as" => "prlimit(RLIMIT_AS)",
        "nofile" => "prlimit(RLIMIT_NOFILE)",
        _ => "prlimit",
    }
}
