//! The sections of a sheet: for each layer what is allowed and why, what is refused and what the program sees.

use super::sheet::{Section, Table};
use super::units::{bytes, count, millis};
use crate::layer::idmap::Outer;
use crate::layer::landlock::Grant;
use crate::layer::mounts::{Content, Flag, Op, Source};
use crate::plan::Plan;
use crate::policy::{CgroupMode, NetworkMode, Policy};
use crate::seccomp::filter::{Rule, Test};
use crate::seccomp::syscalls::Arg;
use crate::seccomp::{Action, Filter, decode};

/// All sections, in the order in which the layers are applied.
pub fn of(policy: &Policy, plan: &Plan, filter: &Filter) -> Vec<Section> {
    vec![
        limits(plan),
        fds(plan),
        idmap(plan),
        mounts(plan),
        net(plan),
        rlimits(plan),
        privs(plan),
        landlock(plan),
        seccomp(filter),
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

fn limits(plan: &Plan) -> Section {
    let l = &plan.limits;
    let cgroup = plan.cgroup.mode == CgroupMode::Required;
    let memory = if cgroup { "cgroup" } else { "rlimit (cgroup with --cgroup)" };
    let enomem = if cgroup { "`memory_limit`, exit 127" } else { "the program sees ENOMEM (MemoryError)" };
    let most = format!("{} (--timeout from 1 s to {})", millis(l.wall_ms.value), millis(l.wall_max_ms));
    let shm = if l.shm_bytes.value == 0 {
        "none: /dev/shm is not there".to_owned()
    } else {
        bytes(l.shm_bytes.value)
    };
    let number = |value: u64| value.to_string();
    let rows = [
        ("wall", most, "supervisor", "killed: `timeout`, exit 124", &l.wall_ms),
        (
            "cpu",
            format!("{} s", l.cpu_s.value),
            "supervisor, RLIMIT_CPU above it",
            "killed: `cpu_limit`, exit 124",
            &l.cpu_s,
        ),
        ("memory", bytes(l.memory_bytes.value), memory, enomem, &l.memory_bytes),
        (
            "threads",
            number(l.threads.value),
            "RLIMIT_NPROC (pids.max with --cgroup)",
            "the program sees EAGAIN",
            &l.threads,
        ),
        (
            "compute threads",
            number(l.compute_threads.value),
            "*_NUM_THREADS",
            "numerical libraries start no more",
            &l.compute_threads,
        ),
        ("open files", number(l.open_files.value), "RLIMIT_NOFILE", "the program sees EMFILE", &l.open_files),
        (
            "file",
            bytes(l.file_bytes.value),
            "RLIMIT_FSIZE",
            "SIGXFSZ or EFBIG; `disk_limit`, exit 127",
            &l.file_bytes,
        ),
        (
            "workdir",
            bytes(l.workdir_bytes.value),
            "tmpfs",
            "the program sees ENOSPC; failing then: `disk_limit`",
            &l.workdir_bytes,
        ),
        (
            "workdir inodes",
            number(l.workdir_inodes.value),
            "tmpfs",
            "the program sees ENOSPC",
            &l.workdir_inodes,
        ),
        ("shm", shm, "tmpfs", "the program sees ENOSPC", &l.shm_bytes),
        (
            "input",
            bytes(l.input_bytes.value),
            "supervisor",
            "refused before anything starts: `input_rejected`, exit 120",
            &l.input_bytes,
        ),
        ("--in files", number(l.in_files.value), "supervisor", "refused: `input_rejected`", &l.in_files),
        (
            "--in together",
            bytes(l.in_total_bytes.value),
            "supervisor",
            "refused: `input_rejected`",
            &l.in_total_bytes,
        ),
        (
            "stdout",
            bytes(l.stdout_bytes.value),
            "supervisor",
            "one byte more: killed, nothing of it is printed: `output_limit`, exit 123",
            &l.stdout_bytes,
        ),
        (
            "stderr",
            bytes(l.stderr_bytes.value),
            "supervisor",
            "killed: `output_limit`, exit 123",
            &l.stderr_bytes,
        ),
        (
            "stderr kept",
            bytes(l.stderr_kept_bytes.value),
            "supervisor",
            "the tail is kept, the rest counted",
            &l.stderr_kept_bytes,
        ),
        (
            "denials",
            number(l.denials.value),
            "supervisor",
            "killed: `killed_by_policy`, exit 126",
            &l.denials,
        ),
        (
            "denials kept",
            number(l.denials_kept.value),
            "supervisor",
            "more are only counted",
            &l.denials_kept,
        ),
        (
            "artifacts",
            number(l.artifacts.value),
            "supervisor",
            "more are refused, each named in the result",
            &l.artifacts,
        ),
        (
            "one artifact",
            bytes(l.artifact_bytes.value),
            "supervisor",
            "refused, named in the result",
            &l.artifact_bytes,
        ),
        (
            "artifacts together",
            bytes(l.artifacts_total_bytes.value),
            "supervisor",
            "more are refused, each named in the result",
            &l.artifacts_total_bytes,
        ),
        (
            "artifact depth",
            number(l.artifact_depth.value),
            "supervisor",
            "deeper folders are not entered",
            &l.artifact_depth,
        ),
    ];
    let rows = rows
        .into_iter()
        .map(|(name, value, keeper, then, bound)| {
            vec![name.to_owned(), value, keeper.to_owned(), then.to_owned(), bound.reason.clone()]
        })
        .collect();
    let cgroup = match plan.cgroup.mode {
        CgroupMode::Required => "A delegated cgroup (--cgroup) is a must.",
        CgroupMode::Optional => {
            "A delegated cgroup is used where --cgroup hands one over; rlimits and tmpfs sizes otherwise."
        }
    };
    section(
        "limits",
        format!("What is bounded, by whom, and what happens there. {cgroup} {}", plan.cgroup.reason),
        vec![table("", &["limit", "value", "kept by", "when it is reached", "why this much"], rows)],
    )
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
    let mode = match plan.net.mode {
        NetworkMode::None => {
            "none: an empty network namespace whose loopback is down; nothing can be reached".to_owned()
        }
        #[allow(unreachable_patterns, reason = "more modes are to come")]
        other => format!("{other:?}"),
    };
    section(
        "net",
        format!("{mode}. {} The host name inside is {}.", plan.net.reason, plan.net.hostname),
        Vec::new(),
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
            "At least ABI {}, else nothing runs; the rights of ABI {} are handled where the kernel knows them. {} What no rule grants answers EACCES.",
            l.require_abi, l.target_abi, l.reason
        ),
        vec![table("", &["path and below", "may", "why"], rows)],
    )
}

/// A condition as a reader takes it: `domain = AF_UNIX`, `prot & PROT_EXEC = 0`.
pub fn condition(call: &str, condition: &crate::seccomp::filter::Condition) -> String {
    let arg = condition.arg();
    let say = |value: u64| decode::value(call, &Arg { pointer: false, ..arg.clone() }, value);
    let name = &arg.name;
    match condition.test() {
        Test::In { mask, values } => {
            let values: Vec<String> = values.iter().map(|value| say(*value)).collect();
            let left = if *mask == arg.width.mask() {
                name.clone()
            } else if mask.count_ones() > 20 {
                format!("{name} & ~({})", say(!mask & arg.width.mask()))
            } else {
                format!("{name} & ({})", say(*mask))
            };
            match values.as_slice() {
                [one] => format!("{left} = {one}"),
                many => format!("{left} in {{{}}}", many.join(", ")),
            }
        }
        Test::Ne(value) => format!("{name} != {}", say(*value)),
        Test::Lt(value) => format!("{name} < {}", say(*value)),
        Test::Le(value) => format!("{name} <= {}", say(*value)),
        Test::Gt(value) => format!("{name} > {}", say(*value)),
        Test::Ge(value) => format!("{name} >= {}", say(*value)),
    }
}

/// All conditions of a rule, or that it has none.
pub fn conditions(rule: &Rule) -> String {
    let all: Vec<String> = rule.when().iter().map(|one| condition(&rule.call().name, one)).collect();
    if all.is_empty() { "any arguments".to_owned() } else { all.join(" and ") }
}

/// What a program sees of an action.
pub fn seen(action: Action) -> String {
    match action {
        Action::Allow => "the call runs".to_owned(),
        Action::Notify => "EPERM, and it is written down".to_owned(),
        Action::Errno(_) => format!("{action}"),
        Action::KillProcess => "the process is killed (SIGSYS)".to_owned(),
    }
}

fn groups(filter: &Filter) -> Vec<&str> {
    let mut names: Vec<(usize, &str)> = Vec::new();
    for rule in filter.rules() {
        if !names.iter().any(|(_, name)| *name == rule.group()) {
            names.push((rule.place().line, rule.group()));
        }
    }
    names.sort_unstable();
    names.into_iter().map(|(_, name)| name).collect()
}

fn seccomp(filter: &Filter) -> Section {
    let (mut allowed, mut refused) = (Vec::new(), Vec::new());
    for group in groups(filter) {
        let mut rules: Vec<&Rule> = filter.rules().iter().filter(|rule| rule.group() == group).collect();
        rules.sort_by_key(|rule| rule.place().line);
        for rule in rules {
            let (name, place) =
                (rule.call().name.clone(), format!("{}:{}", rule.place().file, rule.place().line));
            let when = conditions(rule);
            if rule.action() == Action::Allow {
                allowed.push(vec![group.to_owned(), name, when, rule.reason().to_owned(), place]);
            } else {
                refused.push(vec![
                    group.to_owned(),
                    name,
                    when,
                    seen(rule.action()),
                    rule.reason().to_owned(),
                    place,
                ]);
            }
        }
    }
    let calls = |rows: &[Vec<String>]| {
        let mut names: Vec<&String> = rows.iter().filter_map(|row| row.get(1)).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    };
    let by_argument =
        allowed.iter().filter(|row| row.get(2).is_some_and(|when| when != "any arguments")).count();
    let fallbacks = vec![
        vec![
            "a known call with arguments that no rule takes".to_owned(),
            seen(filter.mismatch_action().action()),
            filter.mismatch_action().reason().to_owned(),
        ],
        vec![
            "any other number".to_owned(),
            seen(filter.default_action().action()),
            filter.default_action().reason().to_owned(),
        ],
        row(&[
            "another architecture, x32 numbers",
            "the process is killed (SIGSYS)",
            "whatever the rules say: those tables of calls are not reviewed",
        ]),
    ];
    let about = format!(
        "{} {} allowed, {} of the entries by argument; {} refused by name.",
        filter.about(),
        count(calls(&allowed), "call"),
        by_argument,
        count(calls(&refused), "call")
    );
    section(
        "seccomp",
        about,
        vec![
            table("Refused whatever else is said", &["what", "the program sees", "why"], fallbacks),
            table("Allowed", &["group", "call", "when", "why", "where"], allowed),
            table("Refused by name", &["group", "call", "when", "the program sees", "why", "where"], refused),
        ],
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
