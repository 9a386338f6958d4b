//! From an outcome to the result document: what held, what was used, what was refused.

use super::outcome::{End, KillReason, Outcome};
use super::refused;
use super::verdict::{self, WorkdirUse};
use crate::layer::Layer;
use crate::plan::Plan;
use crate::policy::schema::NEWEST_LANDLOCK_ABI;
use crate::report::{DenialEntry, Digests, Enforced, Error, LayerEntry, Report, Status, Usage};
use crate::seccomp::Compiled;
use serde_json::{Map, Value, json};

/// How full the workdir is.
pub fn workdir_use(outcome: &Outcome) -> WorkdirUse {
    let Some(stat) = outcome.workdir.as_ref().and_then(|fd| nix::sys::statvfs::fstatvfs(fd).ok()) else {
        return WorkdirUse::default();
    };
    WorkdirUse {
        bytes: (stat.blocks() - stat.blocks_free()) * stat.fragment_size(),
        bytes_full: stat.blocks_free() == 0,
        inodes_full: stat.files_free() == 0,
    }
}

/// The document, but for what only the command knows (skill, script, runtime, streams, artifacts).
pub fn report(outcome: &Outcome, plan: &Plan, filter: &Compiled) -> Report {
    let workdir = workdir_use(outcome);
    let mut report = Report::empty(verdict::status(outcome, &workdir));
    report.policy = Some(plan.policy.clone());
    report.policy_modified = plan.policy_modified;
    report.digests = Digests {
        policy: Some(plan.policy_digest.clone()),
        filter: Some(filter.digest().to_owned()),
        ..Digests::default()
    };
    if let End::Ended(ended) = &outcome.end {
        report.exit_code = ended.exit_code();
        report.signal = ended.signal();
    } else if let End::InitDied(signal) = &outcome.end {
        report.signal = *signal;
    } else if let End::Killed(KillReason::Cancelled(signal)) = &outcome.end {
        // The one that the supervisor got: the exit code tells them apart.
        report.signal = Some(*signal);
    }
    report.error = error(outcome, report.status);
    report.layers = layers(outcome, plan);
    report.limits = verdict::limits(outcome, plan, &workdir);
    let micros = |d: std::time::Duration| u64::try_from(d.as_micros()).unwrap_or(u64::MAX);
    report.usage = Usage {
        wall_ms: micros(outcome.wall) / 1_000,
        setup_us: micros(outcome.setup),
        cpu_ms: outcome.used.map_or(0, |used| used.cpu_us / 1_000),
        max_rss_kib: outcome.used.map_or(0, |used| used.max_rss_kib),
        workdir_bytes: workdir.bytes,
        stdout_bytes: outcome.stdout_bytes,
        stderr_bytes: outcome.stderr_bytes,
    };
    report.denials = denials(outcome, filter);
    report.denials_total = outcome.denials.total();
    report
}

fn error(outcome: &Outcome, status: Status) -> Option<Error> {
    let plain = |id: &str, cause: String, hint: Option<&str>| Error {
        id: id.to_owned(),
        layer: None,
        step: None,
        errno: None,
        cause,
        hint: hint.map(str::to_owned),
    };
    match &outcome.end {
        End::SetupFailed { layer, step, errno } => Some(refused::error(layer, step, *errno)),
        End::SecretsRefused(why) => {
            let (cause, hint) =
                why.split_once("\nhint: ").map_or((why.as_str(), None), |(c, h)| (c, Some(h)));
            Some(plain("secrets_refused", cause.to_owned(), hint))
        }
        End::Killed(reason) => Some(match reason {
            KillReason::Timeout => plain(
                "timeout",
                "the wall-clock limit was reached".to_owned(),
                Some("`--timeout` may ask for more, up to the policy's ceiling"),
            ),
            KillReason::Cpu => plain(
                "cpu_limit",
                "the processor time of the policy was used up".to_owned(),
                Some("give it less to do at once, or raise limits.cpu in the policy"),
            ),
            KillReason::Stdout => plain(
                "output_limit",
                "more stdout than the policy allows: nothing of it is printed".to_owned(),
                Some("write large results to /workdir/out and collect them with --out"),
            ),
            KillReason::Stderr => {
                plain("output_limit", "more stderr than the policy allows".to_owned(), None)
            }
            KillReason::Denials => {
                plain("too_many_denials", "more denied calls than the policy bears".to_owned(), None)
            }
            KillReason::Cancelled(signal) => {
                plain("cancelled", format!("the supervisor got signal {signal}"), None)
            }
        }),
        End::InitDied(signal) if status == Status::Signaled => Some(plain(
            "init_killed",
            format!("something outside killed the jail's init (signal {})", signal.unwrap_or(0)),
            None,
        )),
        _ => match status {
            Status::MemoryLimit => Some(plain(
                "memory_limit",
                "the kernel killed for want of memory in the run's cgroup".to_owned(),
                None,
            )),
            Status::DiskLimit => Some(plain(
                "disk_limit",
                "the script failed, and the workdir was full or a file too large".to_owned(),
                None,
            )),
            Status::ProcessLimit => Some(plain(
                "process_limit",
                "the script failed, and the kernel had refused it a thread".to_owned(),
                None,
            )),
            Status::KilledByPolicy => {
                Some(plain("killed_by_policy", "the filter's kill action ended the process".to_owned(), None))
            }
            _ => None,
        },
    }
}

fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(map) = value { map } else { Map::new() }
}

fn layers(outcome: &Outcome, plan: &Plan) -> Vec<LayerEntry> {
    // Before "born" nothing is known to hold; after it, all but the filter; with a start of the run, all.
    let born = outcome.facts.is_some();
    let ran = !matches!(outcome.end, End::SetupFailed { .. } | End::SecretsRefused(_));
    let facts = outcome.facts.unwrap_or_default();
    Layer::ALL
        .iter()
        .map(|layer| {
            let reached = if *layer == Layer::Seccomp { ran } else { born };
            let mut enforced = if reached { Enforced::Full } else { Enforced::None };
            let details = match layer {
                Layer::Fds => json!({ "open": plan.fds.open }),
                Layer::Idmap => json!({ "inner": plan.idmap.inner, "no_nested_userns_by_sysctl": facts.no_nested_userns }),
                Layer::Mounts => json!({ "operations": plan.mounts.ops.len() }),
                Layer::Net => json!({ "mode": plan.net.mode, "hostname": plan.net.hostname }),
                Layer::Rlimits => json!({ "limits": plan.rlimits.limits.len() }),
                Layer::Privs => json!({ "capabilities": plan.privs.capabilities, "no_new_privs": true, "own_keyring": facts.own_keyring }),
                Layer::Landlock => {
                    if reached && plan.landlock.handled_abi < plan.landlock.target_abi {
                        enforced = Enforced::Partial;
                    }
                    json!({
                        "abi": facts.landlock_abi,
                        "target_abi": plan.landlock.target_abi,
                        "not_handled": not_handled(plan.landlock.handled_abi, plan.landlock.target_abi),
                    })
                }
                Layer::Seccomp => json!({
                    "filter": plan.seccomp.filter,
                    "digest": plan.seccomp.digest,
                    "instructions": plan.seccomp.instructions,
                }),
            };
            LayerEntry { name: layer.name(), enforced, details: object(details) }
        })
        .collect()
}

/// What each ABI brought, for kernels that lack it (landlock(7)).
fn not_handled(handled: u32, target: u32) -> Vec<&'static str> {
    const BROUGHT: [&str; NEWEST_LANDLOCK_ABI as usize] = [
        "file access rights",
        "renames and links between directories",
        "truncation",
        "TCP bind and connect",
        "ioctl on devices",
        "abstract sockets and signals",
        "audit control",
        "ABI 8",
        "ABI 9",
        "ABI 10",
    ];
    (handled..target).filter_map(|abi| BROUGHT.get(abi as usize).copied()).collect()
}

fn denials(outcome: &Outcome, filter: &Compiled) -> Vec<DenialEntry> {
    let kept = outcome.denials.kept().iter();
    kept.map(|denial| {
        let listed = filter.lookup(denial.nr, &denial.args);
        let (name, reason) = listed.map_or_else(
            || (format!("syscall_{}", denial.nr), "not in the filter".to_owned()),
            |listed| {
                let name = listed.name.map_or_else(|| format!("syscall_{}", denial.nr), str::to_owned);
                (name, listed.reason)
            },
        );
        DenialEntry {
            suggestion: format!("an `allow` entry for {name} with exactly these arguments, and a reason"),
            args: denial.args.iter().map(|arg| format!("{arg:#x}")).collect(),
            syscall: name,
            count: denial.count,
            layer: "seccomp",
            reason,
        }
    })
    .collect()
}
