//! Calls that a filter lets through, or refuses in a way that breaks programs. Each is decided of the compiled program.

use super::Severity::{Error, Note, Warning};
use super::{Find, Hit, Rule, Severity, Subject};
use crate::seccomp::region::Region;
use crate::seccomp::verify::split_all;
use crate::seccomp::{Action, Arch, constants};

const fn never(
    id: &'static str,
    name: &'static str,
    severity: Severity,
    sentences: &'static [&'static str],
    why: &'static str,
    source: &'static str,
) -> Rule {
    Rule {
        id,
        name,
        severity,
        why,
        source,
        fix: "Take the entry out of the group of allowed calls, or name the arguments that are needed.",
        find: Find::Never(sentences),
    }
}

pub(super) const RULES: &[Rule] = &[
    never(
        "SJ-P050",
        "tracing-allowed",
        Error,
        &[
            "never ptrace",
            "never process_vm_readv",
            "never process_vm_writev",
            "never pidfd_getfd",
            "never kcmp",
            "never process_madvise",
        ],
        "It reads or steers another process, and a tracer can take a filter off.",
        "CVE-2022-30594",
    ),
    never(
        "SJ-P051",
        "namespaces-allowed",
        Error,
        &[
            "never unshare",
            "never setns",
            "never clone(flags has CLONE_NEWUSER)",
            "never clone(flags has CLONE_NEWNS)",
            "never clone(flags has CLONE_NEWNET)",
            "never clone(flags has CLONE_NEWPID)",
        ],
        "A fresh user namespace has every capability in it and opens most of the kernel's attack surface.",
        "CVE-2022-0185, CVE-2023-32233, CVE-2024-1086",
    ),
    never(
        "SJ-P052",
        "mounts-allowed",
        Error,
        &[
            "never mount",
            "never umount2",
            "never pivot_root",
            "never chroot",
            "never fsopen",
            "never fsconfig",
            "never open_tree",
            "never move_mount",
            "never mount_setattr",
        ],
        "It changes what is where; the new calls have been ways into the kernel.",
        "CVE-2022-0185 (fsconfig)",
    ),
    never(
        "SJ-P053",
        "bpf-allowed",
        Error,
        &["never bpf"],
        "Programs in the kernel, past a verifier that has been wrong before.",
        "CVE-2020-8835, CVE-2021-3490",
    ),
    never(
        "SJ-P054",
        "io-uring-allowed",
        Error,
        &["never io_uring_setup", "never io_uring_enter", "never io_uring_register"],
        "Its operations run without passing the filter: sockets and files behind its back.",
        "CVE-2022-29582; moby/moby#46762",
    ),
    never(
        "SJ-P055",
        "userfaultfd-allowed",
        Error,
        &["never userfaultfd"],
        "It stops the kernel in the middle of a copy at will: the tool of most race exploits.",
        "vm.unprivileged_userfaultfd of the kernel's documentation",
    ),
    never(
        "SJ-P056",
        "perf-allowed",
        Error,
        &["never perf_event_open"],
        "Counters and traces that see other processes and the kernel.",
        "CVE-2013-2094",
    ),
    never(
        "SJ-P057",
        "keyrings-allowed",
        Error,
        &["never keyctl", "never add_key", "never request_key"],
        "Keys are not namespaced as processes are, and the code has a history.",
        "CVE-2016-0728",
    ),
    never(
        "SJ-P058",
        "file-handles-allowed",
        Error,
        &["never open_by_handle_at", "never name_to_handle_at"],
        "It opens files by handle, past every path and mount.",
        "the container breakout `shocker` of 2014",
    ),
    never(
        "SJ-P059",
        "kernel-code-allowed",
        Error,
        &[
            "never init_module",
            "never finit_module",
            "never delete_module",
            "never kexec_load",
            "never kexec_file_load",
        ],
        "Code in the kernel, or another kernel.",
        "",
    ),
    never(
        "SJ-P060",
        "personality-allowed",
        Error,
        &["never personality"],
        "READ_IMPLIES_EXEC undoes W^X, ADDR_NO_RANDOMIZE the layout.",
        "personality(2)",
    ),
    never(
        "SJ-P061",
        "odd-socket-families",
        Error,
        &[
            "never socket(domain=AF_PACKET)",
            "never socket(domain=AF_NETLINK)",
            "never socket(domain=AF_ALG)",
            "never socket(domain=AF_VSOCK)",
            "never socket(domain=AF_XDP)",
        ],
        "Families that programs do not need and that a network namespace does not hold, or that open the kernel's network code.",
        "CVE-2020-14386 (AF_PACKET), CVE-2021-26708 (AF_VSOCK)",
    ),
    never(
        "SJ-P062",
        "terminal-ioctls-allowed",
        Error,
        &["never ioctl(cmd in {TIOCSTI, TIOCLINUX, TIOCSCTTY})"],
        "It types into the caller's terminal.",
        "CVE-2017-5226, CVE-2019-10063",
    ),
    never(
        "SJ-P063",
        "writable-and-executable-memory",
        Error,
        &[
            "never mmap(prot has PROT_WRITE|PROT_EXEC)",
            "never mmap(prot has PROT_EXEC, flags has MAP_ANONYMOUS)",
            "never mprotect(prot has PROT_EXEC)",
            "never pkey_mprotect(prot has PROT_EXEC)",
        ],
        "Machine code of the script's own making: any exploit gets easier.",
        "",
    ),
    never(
        "SJ-P064",
        "clone3-allowed",
        Error,
        &["never clone3"],
        "Its flags lie in memory where a filter cannot see them: any namespace, any process.",
        "moby/moby#42680",
    ),
    never(
        "SJ-P065",
        "memfd-allowed",
        Warning,
        &["never memfd_create", "never memfd_secret"],
        "Files without a place: memory that no rlimit counts, and one that can be mapped executable.",
        "memfd_create(2)",
    ),
    never(
        "SJ-P066",
        "second-exec",
        Error,
        &["never execve", "exec only dirfd=EXEC_FD, pathname=EXEC_PATH, flags=AT_EMPTY_PATH"],
        "Another program can be executed than the pinned one.",
        "",
    ),
    never(
        "SJ-P067",
        "processes-allowed",
        Error,
        &["never fork", "never vfork", "only clone(flags has CLONE_THREAD|CLONE_VM|CLONE_SIGHAND)"],
        "A second process can outlive limits that count per process: RLIMIT_AS is one each.",
        "RLIMIT_AS of getrlimit(2)",
    ),
    never(
        "SJ-P068",
        "sigsys-can-be-sent",
        Warning,
        &[
            "only kill(sig!=SIGSYS)",
            "only tkill(sig!=SIGSYS)",
            "only tgkill(sig!=SIGSYS)",
            "only rt_sigqueueinfo(sig!=SIGSYS)",
            "only rt_tgsigqueueinfo(sig!=SIGSYS)",
        ],
        "A script can die as if the filter had killed it: the result would tell a lie.",
        "",
    ),
    never(
        "SJ-P069",
        "channels-allowed",
        Warning,
        &[
            "never flock",
            "never inotify_add_watch",
            "never fanotify_init",
            "never mincore",
            "never cachestat",
            "never preadv2(flags has RWF_NOWAIT)",
            "never fcntl(cmd in {F_SETPIPE_SZ, F_NOTIFY, F_SETLEASE})",
        ],
        "Runs tell each other something through what they share: read-only files, the page cache, accounts of a user.",
        "ioi/isolate 2.4 to 2.6",
    ),
    never(
        "SJ-P070",
        "socket-buffers-allowed",
        Warning,
        &["never setsockopt(optname in {SO_SNDBUF, SO_RCVBUF, SO_SNDBUFFORCE, SO_RCVBUFFORCE})"],
        "With larger buffers 256 descriptors pin 1.8 GiB of kernel memory that no limit counts.",
        "measured",
    ),
    never(
        "SJ-P071",
        "pipes-without-copy",
        Warning,
        &["never splice", "never tee", "never vmsplice"],
        "Pages move between pipes and files: the ground of several escapes.",
        "CVE-2022-0847",
    ),
    never(
        "SJ-P072",
        "limits-can-be-set",
        Error,
        &["never prlimit64(new_limit!=NULL)", "never setrlimit", "never prlimit64(pid!=0)"],
        "Limits of oneself or of another process can be set.",
        "",
    ),
    never(
        "SJ-P073",
        "identity-can-change",
        Error,
        &[
            "never setuid",
            "never setgid",
            "never setresuid",
            "never setresgid",
            "never setgroups",
            "never capset",
        ],
        "User, group or capabilities can change.",
        "",
    ),
    never(
        "SJ-P074",
        "own-walls-allowed",
        Warning,
        &["never seccomp", "never prctl(option=PR_SET_SECCOMP)", "never landlock_restrict_self"],
        "A filter of the script's own can change what its calls answer, to libraries that trust them.",
        "seccomp(2)",
    ),
    never(
        "SJ-P075",
        "memory-without-limit",
        Warning,
        &["never shmget", "never msgget", "never semget", "never mq_open"],
        "Memory that no limit of the process counts, under names that others can know.",
        "",
    ),
    Rule {
        id: "SJ-P076",
        name: "clone3-not-enosys",
        severity: Warning,
        why: "glibc falls back to clone on ENOSYS only: with any other answer no thread starts.",
        source: "moby/moby#42680",
        fix: "Answer clone3 with errno ENOSYS.",
        find: Find::With(|s| answer(s, "clone3", "ENOSYS")),
    },
    Rule {
        id: "SJ-P077",
        name: "unknown-not-enosys",
        severity: Warning,
        why: "Programs take ENOSYS for an older kernel and fall back; EPERM for a newer call breaks them.",
        source: "moby/moby#42871, systemd/systemd#16739",
        fix: "Let `default` be errno ENOSYS.",
        find: Find::With(|s| {
            let right = constants::errno("ENOSYS").map(Action::Errno);
            let action = s.filter.default_action().action();
            if Some(action) == right {
                Vec::new()
            } else {
                vec![Hit::policy("/filter", format!("a number that nobody listed gets: {action}"))]
            }
        }),
    },
    Rule {
        id: "SJ-P078",
        name: "many-calls-in-one",
        severity: Warning,
        why: "The call is a hundred calls in one: what the next kernel adds to it is allowed already.",
        source: "",
        fix: "Allow the commands that are needed by argument.",
        find: Find::With(|s| {
            let many = [
                "ioctl",
                "fcntl",
                "prctl",
                "arch_prctl",
                "setsockopt",
                "keyctl",
                "bpf",
                "madvise",
                "socketcall",
                "ipc",
            ];
            let open = s
                .filter
                .rules()
                .iter()
                .filter(|rule| rule.action() == Action::Allow && rule.when().is_empty());
            open.filter(|rule| many.contains(&rule.call().name.as_str()))
                .map(|rule| Hit::rule(rule, format!("{} is allowed with any arguments", rule.call().name)))
                .collect()
        }),
    },
    Rule {
        id: "SJ-P079",
        name: "rule-never-decides",
        severity: Warning,
        why: "An entry that nothing uses is read by every reviewer and believed.",
        source: "",
        fix: "Take it out, or out of the stricter entry's way.",
        find: Find::With(unused),
    },
    Rule {
        id: "SJ-P080",
        name: "denials-not-told",
        severity: Note,
        why: "Attempts with arguments that no rule takes are refused and nobody hears of them.",
        source: "",
        fix: "Let `mismatch` be notify.",
        find: Find::With(|s| {
            let action = s.filter.mismatch_action().action();
            if matches!(action, Action::Errno(_)) {
                vec![Hit::policy("/filter", format!("a mismatch gets: {action}"))]
            } else {
                Vec::new()
            }
        }),
    },
];

/// The call must get this errno, or nobody makes it.
fn answer(s: &Subject<'_>, name: &str, errno: &str) -> Vec<Hit> {
    let right = constants::errno(errno).map(Action::Errno);
    let rules: Vec<_> = s.filter.rules_of(name).collect();
    if rules.is_empty() {
        return Vec::new();
    }
    let wrong =
        rules.into_iter().filter(|rule| Some(rule.action()) != right && rule.action() != Action::Allow);
    wrong.map(|rule| Hit::rule(rule, format!("{name} gets: {}", rule.action()))).collect()
}

/// Allow entries that a stricter one always comes before, or whose call no architecture of ours has.
fn unused(s: &Subject<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    for rule in s.filter.rules().iter().filter(|rule| rule.action() == Action::Allow) {
        let name = rule.call().name.as_str();
        if Arch::ALL.into_iter().all(|arch| rule.call().number(arch).is_none()) {
            hits.push(Hit::rule(rule, format!("no architecture here has {name}")));
            continue;
        }
        let Ok((mut left, _)) = split_all(&Region::everything(), rule.when()) else { continue };
        for before in s.filter.rules_of(name).take_while(|other| *other != rule) {
            let halves = left.iter().map(|region| split_all(region, before.when()));
            let Ok(halves) = halves.collect::<Result<Vec<_>, _>>() else { break };
            left = halves.into_iter().flat_map(|(_, outside)| outside).collect();
        }
        if left.is_empty() {
            hits.push(Hit::rule(
                rule,
                format!("another entry of {name} decides first whatever the arguments"),
            ));
        }
    }
    hits
}
