//! Why a run ended as it did, in one sentence with its numbers, and what to do.

use super::outcome::{End, KillReason, Outcome};
use super::refused;
use crate::plan::Plan;
use crate::report::{Error, Status};
use nix::sys::signal::Signal;
use std::time::Duration;

/// What is told of an end; nothing of one that is the script's own.
pub(super) fn error(outcome: &Outcome, plan: &Plan, status: Status) -> Option<Error> {
    match &outcome.end {
        End::SetupFailed { layer, step, errno } => Some(refused::error(layer, step, *errno)),
        End::SupervisorFailed { step, errno } => Some(lost(step, *errno)),
        End::SecretsRefused(why) => {
            let (cause, hint) =
                why.split_once("\nhint: ").map_or((why.as_str(), None), |(cause, hint)| (cause, Some(hint)));
            Some(plain("secrets_refused", cause.to_owned(), hint))
        }
        End::InputRejected(why) => {
            let (cause, hint) =
                why.split_once("\nhint: ").map_or((why.as_str(), None), |(cause, hint)| (cause, Some(hint)));
            Some(plain("input_rejected", cause.to_owned(), hint))
        }
        End::Killed(reason) => Some(killed(*reason, outcome, plan)),
        End::InitDied(signal) if status == Status::Signaled => {
            let by =
                signal.map_or_else(|| "by something".to_owned(), |signal| format!("with {}", name(signal)));
            let cause =
                format!("the jail's init was killed {by} that is outside of the jail and not the supervisor");
            Some(plain("init_killed", cause, Some("`dmesg` tells of the kernel's own kills (OOM)")))
        }
        End::InitDied(_) | End::Ended(_) => ended(outcome, plan, status),
    }
}

fn lost(step: &str, errno: i32) -> Error {
    let why = std::io::Error::from_raw_os_error(errno);
    Error {
        id: "supervisor_failed".to_owned(),
        layer: Some("supervisor".to_owned()),
        step: Some(step.to_owned()),
        errno: Some(errno),
        cause: format!("the script ran, and was ended because the supervisor could not go on: {step}: {why}"),
        hint: Some(
            "a host out of memory or descriptors does this; what the script did so far is done".to_owned(),
        ),
    }
}

fn plain(id: &str, cause: String, hint: Option<&str>) -> Error {
    let hint = hint.map(str::to_owned);
    Error { id: id.to_owned(), layer: None, step: None, errno: None, cause, hint }
}

/// As in signal(7), with the number that exit codes are made of.
fn name(signal: i32) -> String {
    Signal::try_from(signal)
        .map_or_else(|_| format!("signal {signal}"), |known| format!("{known} (signal {signal})"))
}

fn killed(reason: KillReason, outcome: &Outcome, plan: &Plan) -> Error {
    let limits = &plan.limits;
    match reason {
        KillReason::Timeout => plain(
            "timeout",
            format!("the wall-clock limit of {:?} was reached", outcome.wall_limit),
            Some(&format!(
                "`--timeout` may ask for up to {:?}, the ceiling of the policy {}",
                Duration::from_millis(limits.wall_max_ms),
                plan.policy
            )),
        ),
        KillReason::Cpu => plain(
            "cpu_limit",
            format!("the processor time of {} s was used up", limits.cpu_s.value),
            Some("give it less to do at once, or raise limits.cpu in a policy of your own"),
        ),
        KillReason::Stdout => plain(
            "output_limit",
            format!("more than {} bytes of stdout: nothing of it is printed", limits.stdout_bytes.value),
            Some("write large results to /workdir/out and collect them with --out"),
        ),
        KillReason::Stderr => plain(
            "output_limit",
            format!(
                "more than {} bytes of stderr: its last {} bytes are kept",
                limits.stderr_bytes.value, limits.stderr_kept_bytes.value
            ),
            Some("say less on stderr, or write it to a file in /workdir/out and collect it with --out"),
        ),
        KillReason::Denials => plain(
            "too_many_denials",
            format!("the script tried {} denied calls", limits.denials.value),
            Some("`denials` of the result document (--report) tells which"),
        ),
        KillReason::Unready => plain(
            "not_ready",
            "started ahead, the script did not come to wait for its input in time".to_owned(),
            Some("it must read stdin in its main thread; `--warm-ready` may give its imports more time"),
        ),
        KillReason::Idle => plain(
            "idle_limit",
            "started ahead, and no input came in time".to_owned(),
            Some("`--warm-idle` may ask for more"),
        ),
        KillReason::Abandoned => plain("cancelled", "stdin was closed before an input came".to_owned(), None),
        KillReason::Cancelled(signal) => plain("cancelled", format!("cancelled by {}", name(signal)), None),
    }
}

fn ended(outcome: &Outcome, plan: &Plan, status: Status) -> Option<Error> {
    let limits = &plan.limits;
    match status {
        Status::MemoryLimit => Some(plain(
            "memory_limit",
            format!(
                "the kernel killed it: the run's cgroup was at its {} bytes of memory",
                limits.memory_bytes.value
            ),
            Some("give it less to do at once, or raise limits.memory in a policy of your own"),
        )),
        Status::DiskLimit => Some(plain(
            "disk_limit",
            format!(
                "the script failed, and the workdir was full ({} bytes, {} files) or a file too large ({} bytes)",
                limits.workdir_bytes.value, limits.workdir_inodes.value, limits.file_bytes.value
            ),
            Some("write less, or raise limits.workdir or limits.file in a policy of your own"),
        )),
        Status::ProcessLimit => Some(plain(
            "process_limit",
            format!(
                "the script failed, and the kernel had refused it a thread beyond {}",
                limits.threads.value
            ),
            Some("start fewer threads, or raise limits.threads in a policy of your own"),
        )),
        Status::KilledByPolicy => Some(plain(
            "killed_by_policy",
            "the filter's kill action ended the process: a call of another architecture, or of x32"
                .to_owned(),
            Some(
                "nothing that Python does by itself makes such a call: look at what the script brings along",
            ),
        )),
        Status::Signaled => {
            let End::Ended(ended) = &outcome.end else { return None };
            let hint = match ended.signal()? {
                libc::SIGSEGV | libc::SIGBUS | libc::SIGABRT | libc::SIGILL | libc::SIGFPE => Some(
                    "a crash of the interpreter or of an extension module; deep recursion and a full memory limit end so too",
                ),
                _ => None,
            };
            Some(plain(
                "signaled",
                format!("the script was ended by {}, which the jail did not send", name(ended.signal()?)),
                hint,
            ))
        }
        _ => None,
    }
}
