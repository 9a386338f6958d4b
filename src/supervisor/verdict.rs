//! What an end means: the status, on the kernel's or the supervisor's testimony, never a guess.

use super::outcome::{End, KillReason, Outcome};
use crate::plan::Plan;
use crate::report::{Backend, LimitEntry, Reached, Status};
use crate::sys::rlimit;

/// How full the workdir's tmpfs was when everything was over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkdirUse {
    /// Bytes in use.
    pub bytes: u64,
    /// No block was free.
    pub bytes_full: bool,
    /// No inode was free.
    pub inodes_full: bool,
}

/// What is in force of a limit that an rlimit keeps: a lower hard limit of the caller's stays.
fn in_force(resource: rlimit::Resource, planned: u64) -> u64 {
    rlimit::get(resource).map_or(planned, |(_, hard)| planned.min(hard))
}

/// The status of an outcome.
pub fn status(outcome: &Outcome, workdir: &WorkdirUse) -> Status {
    let counts = outcome.cgroup.unwrap_or_default();
    match &outcome.end {
        End::SetupFailed { .. } => Status::SetupFailed,
        End::SupervisorFailed { .. } => Status::SupervisorFailed,
        End::SecretsRefused(_) | End::InputRejected(_) => Status::InputRejected,
        End::Killed(KillReason::Timeout | KillReason::Unready | KillReason::Idle) => Status::Timeout,
        End::Killed(KillReason::Cpu) => Status::CpuLimit,
        End::Killed(KillReason::Stdout | KillReason::Stderr) => Status::OutputLimit,
        End::Killed(KillReason::Denials) => Status::KilledByPolicy,
        End::Killed(KillReason::Cancelled(_) | KillReason::Abandoned) => Status::Cancelled,
        End::InitDied(_) | End::Ended(_) if counts.oom_kills > 0 => Status::MemoryLimit,
        End::InitDied(_) => Status::Signaled,
        End::Ended(ended) => match (ended.exit_code(), ended.signal()) {
            (Some(0), _) => Status::Ok,
            // The filter refuses to send SIGSYS, so only the filter's own kill ends a process with it.
            (_, Some(libc::SIGSYS)) => Status::KilledByPolicy,
            (_, Some(libc::SIGXFSZ)) => Status::DiskLimit,
            _ if workdir.bytes_full || workdir.inodes_full => Status::DiskLimit,
            _ if counts.pids_max > 0 => Status::ProcessLimit,
            (_, Some(_)) => Status::Signaled,
            _ => Status::ScriptError,
        },
    }
}

/// Every limit with its keeper and whether it was reached.
pub fn limits(outcome: &Outcome, plan: &Plan, workdir: &WorkdirUse) -> Vec<LimitEntry> {
    let l = &plan.limits;
    let killed = |reason| outcome.end == End::Killed(reason);
    let yes_no = |yes| if yes { Reached::Yes } else { Reached::No };
    // Of a limit that the kernel answers with an errno, only the program knows.
    let or_unknown = |yes| if yes { Reached::Yes } else { Reached::Unknown };
    let (memory, memory_backend, processes, process_backend) = match outcome.cgroup {
        Some(counts) => {
            (yes_no(counts.oom_kills > 0), Backend::Cgroup2, yes_no(counts.pids_max > 0), Backend::Cgroup2)
        }
        None => (Reached::Unknown, Backend::Rlimit, Reached::Unknown, Backend::Rlimit),
    };
    let (memory_bytes, threads) = match outcome.cgroup {
        Some(_) => (l.memory_bytes.value, l.threads.value),
        None => (
            in_force(libc::RLIMIT_AS, l.memory_bytes.value),
            // Init is counted too.
            in_force(libc::RLIMIT_NPROC, l.threads.value + 1).saturating_sub(1),
        ),
    };
    let cpu_ms = u64::try_from(super::cpu::bound(l.cpu_s.value).as_millis()).unwrap_or(u64::MAX);
    let wall_ms = u64::try_from(outcome.wall_limit.as_millis()).unwrap_or(u64::MAX);
    let file_bytes = in_force(libc::RLIMIT_FSIZE, l.file_bytes.value);
    let open_files = in_force(libc::RLIMIT_NOFILE, l.open_files.value);
    let signal = if let End::Ended(ended) = &outcome.end { ended.signal() } else { None };
    let entry = |name, value, unit, backend, reached| LimitEntry { name, value, unit, backend, reached };
    let mut list = vec![
        entry("wall", wall_ms, "ms", Backend::Supervisor, yes_no(killed(KillReason::Timeout))),
        entry("cpu", cpu_ms, "ms", Backend::Supervisor, yes_no(killed(KillReason::Cpu))),
        entry("memory", memory_bytes, "bytes", memory_backend, memory),
        entry("threads", threads, "count", process_backend, processes),
        entry("workdir", l.workdir_bytes.value, "bytes", Backend::Tmpfs, or_unknown(workdir.bytes_full)),
        entry(
            "workdir_inodes",
            l.workdir_inodes.value,
            "count",
            Backend::Tmpfs,
            or_unknown(workdir.inodes_full),
        ),
        entry("shm", l.shm_bytes.value, "bytes", Backend::Tmpfs, Reached::Unknown),
        entry("file", file_bytes, "bytes", Backend::Rlimit, or_unknown(signal == Some(libc::SIGXFSZ))),
        entry("open_files", open_files, "count", Backend::Rlimit, Reached::Unknown),
        entry(
            "stdout",
            l.stdout_bytes.value,
            "bytes",
            Backend::Supervisor,
            yes_no(killed(KillReason::Stdout)),
        ),
        entry(
            "stderr",
            l.stderr_bytes.value,
            "bytes",
            Backend::Supervisor,
            yes_no(killed(KillReason::Stderr)),
        ),
        entry("denials", l.denials.value, "count", Backend::Supervisor, yes_no(killed(KillReason::Denials))),
    ];
    // One that is reached ends no run: the connection or lookup is refused, and the program is told.
    if let Some(egress) = &plan.net.egress {
        let reached = outcome.egress.reached;
        let rows = [
            ("egress.max_connections", egress.max_connections.value, "count", reached.connections),
            (
                "egress.max_connections_total",
                egress.max_connections_total.value,
                "count",
                reached.connections_total,
            ),
            ("egress.max_bytes", egress.max_bytes.value, "bytes", reached.bytes),
            ("egress.dns.max_lookups", egress.max_lookups.value, "count", reached.lookups),
        ];
        list.extend(
            rows.map(|(name, value, unit, yes)| entry(name, value, unit, Backend::Supervisor, yes_no(yes))),
        );
    }
    list
}
