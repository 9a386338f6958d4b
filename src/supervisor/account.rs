//! From an outcome to the result document: what held, what was used, what was refused.

use super::cause;
use super::outcome::{End, KillReason, Outcome};
use super::verdict::{self, WorkdirUse};
use super::warm;
use crate::layer::Layer;
use crate::plan::Plan;
use crate::policy::schema::NEWEST_LANDLOCK_ABI;
use crate::report::{DenialEntry, Digests, Enforced, LayerEntry, Report, Usage};
use crate::seccomp::filter::Condition;
use crate::seccomp::syscalls::{Syscall, Table};
use crate::seccomp::{Arch, Compiled, decode};
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
    report.error = cause::error(outcome, plan, report.status);
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
    report.warm = outcome.warm.as_ref().map(warm::Facts::entry);
    report.egress.clone_from(&outcome.egress.entries);
    report.egress_total = outcome.egress.total;
    report.egress_lost = outcome.egress.lost;
    report.denials = denials(outcome, filter);
    report.denials_total = outcome.denials.total();
    report
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
                Layer::Net => json!({
                    "mode": plan.net.mode,
                    "hostname": plan.net.hostname,
                    "ipv6": facts.net.v6,
                    "tap": facts.net.tap,
                }),
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
    outcome
        .denials
        .kept()
        .iter()
        .map(|denial| denied(denial.nr, &denial.args, denial.count, filter))
        .collect()
}

fn denied(nr: u32, args: &[u64; 6], count: u64, filter: &Compiled) -> DenialEntry {
    let listed = filter.lookup(nr, args);
    let call = Table::builtin().numbered(Arch::NATIVE, nr);
    let name = call.map_or_else(|| format!("syscall_{nr}"), |call| call.name.clone());
    let place = listed.as_ref().and_then(|listed| listed.place.as_ref());
    let place = place.map(|place| format!("{}:{}", place.file, place.line));
    DenialEntry {
        call: format!("{name}({})", decode::arguments(call, args).join(", ")),
        suggestion: suggestion(&name, call, args, place.as_deref(), filter),
        args: args.iter().map(|arg| format!("{arg:#x}")).collect(),
        syscall: name,
        count,
        layer: "seccomp",
        reason: listed.map_or_else(|| "not in the filter".to_owned(), |listed| listed.reason),
        place,
    }
}

/// The smallest change that would let the call through: the entry that refuses it by name has to go, and one with these
/// arguments has to come. Of the arguments those count that have a name, or that other entries of the call look at.
fn suggestion(
    name: &str,
    call: Option<&Syscall>,
    args: &[u64; 6],
    place: Option<&str>,
    filter: &Compiled,
) -> String {
    let Some((call, list)) = call.and_then(|call| Some((call, call.args.as_ref()?))) else {
        return format!("{name} has no name in the table of calls: it cannot be allowed by itself");
    };
    let looked_at: Vec<u8> = filter.filter().map_or_else(
        |_| Vec::new(),
        |filter| filter.rules_of(name).flat_map(|rule| rule.when().iter().map(Condition::index)).collect(),
    );
    let when: Vec<Value> = (0..)
        .zip(list.iter().zip(args))
        .filter_map(|(index, (arg, register))| {
            let value = decode::literal(&call.name, arg, *register, decode::level(args));
            (value.is_string() || looked_at.contains(&index)).then(|| json!({ "arg": arg.name, "eq": value }))
        })
        .collect();
    let mut entry = json!({ "call": name, "reason": "who needs it, and for what" });
    if !when.is_empty() {
        entry["when"] = Value::Array(when);
    }
    let first = place.map_or_else(String::new, |place| format!("take {name} out at {place}, and "));
    format!("in a filter of your own: {first}add {entry} to a group that allows")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seccomp;

    fn of(name: &str, args: [u64; 6]) -> DenialEntry {
        let nr = Table::builtin().named(name).and_then(|call| call.number(Arch::NATIVE)).unwrap();
        denied(nr, &args, 3, &seccomp::shipped("default").unwrap())
    }

    #[test]
    fn a_denial_is_told_in_words_with_the_change_that_would_allow_it() {
        let socket = of("socket", [2, 0o2_000_001, 0, 0, 0, 0]);
        assert_eq!(socket.call, "socket(domain=AF_INET, type=SOCK_STREAM|SOCK_CLOEXEC, protocol=0)");
        assert_eq!((socket.count, socket.place), (3, None));
        assert!(socket.suggestion.contains(r#"{"arg":"domain","eq":"AF_INET"}"#), "{}", socket.suggestion);
        let ptrace = of("ptrace", [16, 1, 0, 0, 0, 0]);
        let place = ptrace.place.unwrap();
        assert!(place.starts_with("seccomp/default.json:"), "{place}");
        assert!(ptrace.suggestion.contains(&format!("take ptrace out at {place}")), "{}", ptrace.suggestion);
        assert_eq!(ptrace.args.len(), 6);
    }

    #[test]
    fn a_number_without_a_name_is_told_too() {
        let unknown = denied(0x3fff_0000, &[1; 6], 1, &seccomp::shipped("default").unwrap());
        assert_eq!(unknown.syscall, "syscall_1073676288");
        assert!(unknown.suggestion.contains("cannot be allowed"), "{}", unknown.suggestion);
    }
}
