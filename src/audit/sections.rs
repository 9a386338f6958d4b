//! The sections of a sheet: for each layer what is allowed and why, what is refused and what the program sees.

mod calls;
pub mod differences;
mod egress;
mod limits;

pub use calls::{conditions, seen};

use super::sheet::{Section, Table};
use super::units::bytes;
use crate::layer::idmap::Outer;
use crate::layer::landlock::Grant;
use crate::layer::mounts::{Content, Flag, Op, Source};
use crate::plan::Plan;
use crate::policy::{NetworkMode, Policy};
use crate::seccomp::Filter;

/// All sections, in the order in which the layers are applied.
pub fn of(policy: &Policy, plan: &Plan, filter: &Filter) -> Vec<Section> {
    vec![
        limits::section(plan),
        fds(plan),
        idmap(plan),
        mounts(plan),
        net(plan),
        rlimits(plan),
        privs(plan),
        landlock(plan),
        calls::section(filter),
        payload(plan),
        guarantees(policy, filter),
    ]
}

fn section(name: &'static str, about: impl Into<String>, tables: Vec<Table>) -> Section {
    Section { name, about: about.into(), tables }
}

fn table(title: impl Into<String>, head: &[&'static str], rows: Vec<Vec<String>>) -> Table {
    Table { title: title.into(), head: head.to_vec(), rows }
}

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

fn fds(plan: &Plan) -> Section {
    let numbers: Vec<String> = plan.fds.open.iter().map(ToString::to_string).collect();
    section(
        "fds",
        format!(
            "Descriptors {} are open and nothing of the caller's; all are pipes. The interpreter is executed from number {}, which RLIMIT_NOFILE puts out of reach afterwards.",
            numbers.join(", "),
            plan.fds.exec_fd
        ),
        Vec::new(),
    )
}

fn idmap(plan: &Plan) -> Section {
    let outer = match &plan.idmap.outer {
        Outer::Caller => "the caller, who is not root".to_owned(),
        Outer::OneOf { first, count, reason } => format!("one of {count} ids from {first} ({reason})"),
    };
    section(
        "idmap",
        format!(
            "User, mount, pid, network, ipc, uts and cgroup namespaces of its own. Inside uid and gid {}; outside {outer}; a call by root takes an unprivileged id of the policy's range.",
            plan.idmap.inner
        ),
        Vec::new(),
    )
}

fn flags(flags: &[Flag]) -> String {
    let words: Vec<&str> = flags
        .iter()
        .map(|flag| match flag {
            Flag::Ro => "read-only",
            Flag::Nosuid => "nosuid",
            Flag::Nodev => "nodev",
            Flag::Noexec => "noexec",
        })
        .collect();
    words.join(", ")
}

fn mounts(plan: &Plan) -> Section {
    let mut rows = vec![vec![
        "/".to_owned(),
        format!("a new tmpfs of {}, read-only once it is filled", bytes(plan.mounts.root_bytes)),
        "read-only, nosuid, nodev".to_owned(),
        "the root; the old one is unmounted".to_owned(),
    ]];
    for op in &plan.mounts.ops {
        rows.extend(match op {
            Op::Bind { source, path, flags: list, reason } => {
                let what = match source {
                    Source::Runtime(from) => format!("the pinned Python's tree ({})", from.display()),
                    Source::Device(_) => "a device file of the host".to_owned(),
                    Source::Host(from) => format!("{} of the host", from.display()),
                };
                Some(vec![path.clone(), what, flags(list), reason.clone()])
            }
            Op::Tmpfs { path, bytes: size, inodes, flags: list, reason } => Some(vec![
                path.clone(),
                format!("a tmpfs of {}, {inodes} inodes", bytes(*size)),
                flags(list),
                reason.clone(),
            ]),
            Op::Place { path, reason } => Some(vec![
                path.clone(),
                "a part of the root".to_owned(),
                "read-only".to_owned(),
                reason.clone(),
            ]),
            Op::Alias { from, path, reason } => Some(vec![
                path.clone(),
                format!("a second name of {from}"),
                "nosuid, nodev, noexec".to_owned(),
                reason.clone(),
            ]),
            Op::File { path, content: Content::Text(text), .. } => Some(vec![
                path.clone(),
                format!("made: {:?}", text.trim_end()),
                "read-only".to_owned(),
                "a made file, nothing of the host's".to_owned(),
            ]),
            Op::Symlink { path, target } => Some(vec![
                path.clone(),
                format!("a link to {target}"),
                String::new(),
                "where the loader looks".to_owned(),
            ]),
            Op::Dir { .. } | Op::File { .. } | Op::Hold { .. } => None,
        });
    }
    let files =
        plan.mounts.ops.iter().filter(|op| matches!(op, Op::File { content: Content::Skill(_), .. })).count();
    if files > 0 {
        rows.push(row(&[
            "/skill",
            "the skill's verified files, copied",
            "read-only, nosuid, nodev, noexec",
            "what runs is what was hashed; .skillenv and dockerfiles are left out",
        ]));
    }
    section(
        "mounts",
        "The file system that the script sees, whole. There is no /proc, no /sys, no shell and no file of the host's but the pinned Python; any other path answers ENOENT.",
        vec![table("", &["path", "what is there", "flags", "why"], rows)],
    )
}

fn net(plan: &Plan) -> Section {
    let (mode, tables) = match (plan.net.mode, &plan.net.egress) {
        (NetworkMode::Egress, Some(egress)) => (
            "egress: a network namespace without a way out, where every address is its own: a connection to a listed port reaches a listener that the supervisor serves, and the supervisor alone dials, to the very address that it judged",
            egress::tables(egress),
        ),
        _ => ("none: an empty network namespace whose loopback is down; nothing can be reached", Vec::new()),
    };
    section(
        "net",
        format!("{mode}. {} The host name inside is {}.", plan.net.reason, plan.net.hostname),
        tables,
    )
}

fn rlimits(plan: &Plan) -> Section {
    let rows = plan
        .rlimits
        .limits
        .iter()
        .map(|limit| {
            let value = match limit.name {
                "cpu" => format!("{} s", limit.value),
                "as" | "fsize" | "stack" | "memlock" | "msgqueue" => bytes(limit.value),
                _ => limit.value.to_string(),
            };
            vec![format!("RLIMIT_{}", limit.name.to_uppercase()), value, limit.reason.clone()]
        })
        .collect();
    section(
        "rlimits",
        "Soft and hard alike; no call that sets one is allowed.",
        vec![table("", &["limit", "value", "why"], rows)],
    )
}

fn privs(plan: &Plan) -> Section {
    let capabilities = if plan.privs.capabilities.is_empty() {
        "none".to_owned()
    } else {
        plan.privs.capabilities.join(", ")
    };
    let bound = if plan.privs.no_new_privs { "set" } else { "NOT set" };
    section(
        "privs",
        format!(
            "Capabilities in any set: {capabilities}. no_new_privs: {bound}. The secure bits are locked."
        ),
        Vec::new(),
    )
}

fn grant(grant: Grant) -> &'static str {
    match grant {
        Grant::List => "list directories",
        Grant::Read => "read files, list directories",
        Grant::ReadFile => "read this file",
        Grant::Execute => "read and execute this file",
        Grant::ReadWriteFile => "read and write this file, no ioctl",
        Grant::Work => "read, write, make, rename and remove; not execute, no device files, sockets or fifos",
    }
}

fn landlock(plan: &Plan) -> Section {
    let l = &plan.landlock;
    let rows = l
        .rules
        .iter()
        .map(|rule| vec![rule.path.clone(), grant(rule.grant).to_owned(), rule.reason.clone()])
        .collect();
    section(
        "landlock",
        format!(
            "At least ABI {}, else nothing runs; the rights of ABI {} are handled where the kernel knows them{}. {} What no rule grants answers EACCES.",
            l.require_abi,
            l.target_abi,
            if l.no_connect {
                ""
            } else {
                ", but for TCP connect, which the walls of egress judge and write down"
            },
            l.reason
        ),
        vec![table("", &["path and below", "may", "why"], rows)],
    )
}

fn payload(plan: &Plan) -> Section {
    let rows = plan
        .payload
        .environment
        .iter()
        .map(|v| vec![v.name.clone(), v.value.clone(), v.reason.clone()])
        .collect();
    section(
        "payload",
        format!(
            "{} runs as {:?} in {}. The environment is exactly this, with what the skill's .skillenv declares; nothing of the caller's.",
            plan.payload.program, plan.payload.argv, plan.payload.cwd
        ),
        vec![table("", &["variable", "value", "why"], rows)],
    )
}

fn guarantees(policy: &Policy, filter: &Filter) -> Section {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (place, list) in
        [("the policy", policy.file().guarantees.as_slice()), ("the filter", filter.guarantees())]
    {
        rows.extend(list.iter().map(|sentence| vec![sentence.clone(), place.to_owned()]));
    }
    section(
        "guarantees",
        "Sentences that are proven of the compiled program for every input, on x86_64 and aarch64; a policy that breaks one of its own is refused.",
        vec![table("", &["sentence", "asked for by"], rows)],
    )
}
