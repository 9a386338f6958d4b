//! The sentences that matter first. Each is decided from the plan and proven of the compiled filter: where a policy
//! breaks one, the contrary is said, with an input that shows it.

use super::sheet::{Proof, Sentence, Wall};
use crate::layer::landlock::Grant;
use crate::layer::mounts::{Flag, Op, Source};
use crate::plan::Plan;
use crate::policy::egress::{Allowed, EgressMode};
use crate::policy::schema::Sni;
use crate::policy::{Egress, NetworkMode, Policy};
use crate::seccomp::{Arch, Compiled, guarantee};

/// What the plan must say; the error is what breaks it.
type Check = fn(&Plan) -> Result<(), String>;

/// One sentence before it is held against a policy.
struct Claim {
    id: &'static str,
    text: &'static str,
    contrary: &'static str,
    by: &'static [(&'static str, &'static str)],
    guarantees: &'static [&'static str],
    tests: &'static [&'static str],
    /// What the plan itself must say.
    plan: Option<Check>,
}

const CLAIMS: &[Claim] = &[
    Claim {
        id: "no_process",
        text: "No process can be started: the script runs, and its threads.",
        contrary: "A process can be started.",
        by: &[
            (
                "seccomp",
                "fork and vfork are refused, clone is allowed with exactly the flags of a thread, clone3 is ENOSYS",
            ),
            ("rlimits", "RLIMIT_NPROC: whatever came through would be counted, with init and the threads"),
        ],
        guarantees: &[
            "never fork",
            "never vfork",
            "never clone3",
            "only clone(flags has CLONE_VM|CLONE_THREAD|CLONE_SIGHAND)",
        ],
        tests: &[
            "tests/seccomp/walls.rs no_process_but_threads",
            "tests/inside/process.rs the_script_is_process_two_of_two_in_a_session_of_its_own",
        ],
        plan: None,
    },
    Claim {
        id: "no_exec",
        text: "No other program can be executed: the pinned interpreter once, by the set-up.",
        contrary: "Another program can be executed.",
        by: &[
            (
                "seccomp",
                "execve is refused; execveat takes only the interpreter's descriptor, whose number nobody can make again",
            ),
            ("landlock", "the right to execute is on the interpreter and its ELF loader alone"),
            ("mounts", "everything that can be written is noexec"),
        ],
        guarantees: &["never execve", "exec only dirfd=EXEC_FD, pathname=EXEC_PATH, flags=AT_EMPTY_PATH"],
        tests: &[
            "tests/seccomp/exec.rs there_is_no_second_exec",
            "tests/inside/files.rs nothing_that_the_script_wrote_can_be_executed",
        ],
        plan: Some(executable_is_not_writable),
    },
    Claim {
        id: "no_address",
        text: "No address can be reached: not the Internet, not the host (169.254.169.254 and 127.0.0.1 included), not another run.",
        contrary: "Sockets can be made: the network namespace is the only wall left, and AF_VSOCK is not held by it.",
        by: &[
            ("net", "a network namespace of its own with one loopback interface, down; no route leads out"),
            (
                "seccomp",
                "socket, connect and bind are refused; socketpair makes connected pairs within the process only",
            ),
            (
                "landlock",
                "TCP bind and connect are refused from ABI 4 on, abstract sockets are scoped from ABI 6 on",
            ),
        ],
        guarantees: &[
            "never socket",
            "never connect",
            "never bind",
            "never listen",
            "only socketpair(domain=AF_UNIX)",
        ],
        tests: &[
            "tests/seccomp/walls.rs no_socket_that_reaches_anything",
            "tests/inside/from_outside.rs the_network_is_one_loopback_that_is_down",
        ],
        plan: Some(no_network),
    },
    Claim {
        id: "no_write",
        text: "Nothing can be written but /workdir (/tmp and /skill/out are folders of it) and /dev/shm, both of this run alone, and gone after it; --out copies what is in /workdir/out.",
        contrary: "A way to write outside /workdir is open.",
        by: &[
            (
                "mounts",
                "the root and every bind are read-only; /workdir is a tmpfs of this run, with /dev/shm the only other one",
            ),
            (
                "landlock",
                "rights to write are on /workdir, its two other names, /dev/shm and the device files alone",
            ),
        ],
        guarantees: &["never mount", "never open_by_handle_at"],
        tests: &[
            "tests/inside/files.rs nothing_can_be_made_written_removed_or_changed_outside_the_workdir",
            "tests/inside/files.rs one_folder_has_two_names",
        ],
        plan: Some(writes_in_the_workdir),
    },
    Claim {
        id: "no_host_file",
        text: "No file of the host can be read but the pinned Python's: /etc/passwd in the jail is a made file of one line.",
        contrary: "A way to files of the host is open.",
        by: &[
            (
                "mounts",
                "the root is a new tmpfs; of the host it holds the pinned Python's tree and device files, and the old root is unmounted",
            ),
            ("landlock", "reading is granted path by path"),
            ("fds", "no descriptor of the caller's is passed in"),
        ],
        guarantees: &[
            "never open_by_handle_at",
            "never name_to_handle_at",
            "never chroot",
            "never pivot_root",
        ],
        tests: &[
            "tests/inside/files.rs the_whole_tree_is_this_list",
            "tests/inside/files.rs etc_is_made_and_says_only_this",
            "tests/inside/process.rs descriptors_are_exactly_three_pipes",
        ],
        plan: Some(binds_only_the_runtime),
    },
    Claim {
        id: "no_privilege",
        text: "No privilege can be gained: no capability, no setuid, no change of user.",
        contrary: "A privilege can be gained.",
        by: &[
            ("privs", "every capability set is empty, no_new_privs is set, the secure bits are locked"),
            (
                "idmap",
                "inside it is uid 1000; outside the caller, or an unprivileged id of this run's own where root called",
            ),
            ("seccomp", "calls that change an id or a capability are refused"),
        ],
        guarantees: &["never setuid", "never setresuid", "never capset", "never personality", "never keyctl"],
        tests: &[
            "tests/inside/from_outside.rs no_capability_is_in_any_set_of_either_process",
            "tests/inside/process.rs there_is_no_privilege_to_use",
        ],
        plan: Some(no_privilege),
    },
    Claim {
        id: "no_namespace",
        text: "No namespace can be made or joined, so most of the kernel's attack surface stays closed.",
        contrary: "A namespace can be made or joined.",
        by: &[
            ("seccomp", "unshare and setns are refused, clone takes no namespace flag"),
            ("idmap", "max_user_namespaces is 0 inside where /proc/sys can be written"),
        ],
        guarantees: &[
            "never unshare",
            "never setns",
            "never clone(flags has CLONE_NEWUSER)",
            "never clone(flags has CLONE_NEWNS)",
            "never clone(flags has CLONE_NEWNET)",
            "never clone3",
        ],
        tests: &[
            "tests/seccomp/walls.rs no_process_but_threads",
            "tests/inside/from_outside.rs every_namespace_is_new",
        ],
        plan: None,
    },
    Claim {
        id: "no_other_process",
        text: "No other process can be seen, read, steered or signalled.",
        contrary: "A call that reaches into other processes is open; the pid namespace still has none but the jail's own.",
        by: &[
            (
                "idmap",
                "a pid namespace of its own: only the jail's init and the script are in it; a session of its own",
            ),
            ("seccomp", "ptrace, process_vm_*, pidfd_* and kcmp are refused"),
            ("landlock", "signals stay inside from ABI 6 on"),
        ],
        guarantees: &[
            "never ptrace",
            "never process_vm_readv",
            "never process_vm_writev",
            "never pidfd_getfd",
            "never pidfd_open",
            "never kcmp",
        ],
        tests: &[
            "tests/inside/process.rs the_script_is_process_two_of_two_in_a_session_of_its_own",
            "tests/inside/from_outside.rs init_is_not_dumpable_and_holds_nothing_but_the_channel",
        ],
        plan: None,
    },
    Claim {
        id: "no_made_code",
        text: "No machine code of the script's own making can run: memory is never writable and executable, never made executable.",
        contrary: "Memory can be made executable.",
        by: &[
            (
                "seccomp",
                "mmap, mprotect and pkey_mprotect are held to W^X, and executable mappings to private ones of files",
            ),
            ("landlock", "execute is a right of two files"),
        ],
        guarantees: &[
            "never mmap(prot has PROT_WRITE|PROT_EXEC)",
            "never mmap(prot has PROT_EXEC, flags has MAP_ANONYMOUS)",
            "never mprotect(prot has PROT_EXEC)",
            "never pkey_mprotect",
            "never memfd_create",
        ],
        tests: &["tests/seccomp/walls.rs no_executable_memory_of_ones_own"],
        plan: None,
    },
    Claim {
        id: "no_kernel_surface",
        text: "The kernel's dangerous interfaces are closed: bpf, io_uring, userfaultfd, perf, keyrings, modules, kexec, mounts.",
        contrary: "A dangerous interface of the kernel is open.",
        by: &[(
            "seccomp",
            "an allow-list: each of these stands in a group of refusals, and what nobody listed is ENOSYS",
        )],
        guarantees: &[
            "never bpf",
            "never io_uring_setup",
            "never userfaultfd",
            "never perf_event_open",
            "never keyctl",
            "never add_key",
            "never init_module",
            "never finit_module",
            "never kexec_load",
            "never mount",
            "never fsopen",
            "never open_tree",
        ],
        tests: &[
            "tests/seccomp/entries.rs every_entry_does_what_it_says",
            "tests/seccomp/entries.rs x32_numbers_kill",
            "tests/seccomp/entries.rs calls_of_the_32_bit_architecture_kill",
        ],
        plan: None,
    },
    Claim {
        id: "no_channel",
        text: "Runs share no file, lock, account or object by which one could tell another anything. What the whole host shows to everybody (its load and free memory by sysinfo, its times) stays to be seen.",
        contrary: "There is a channel to other runs.",
        by: &[
            (
                "seccomp",
                "flock, inotify, fanotify, mincore, cachestat, RWF_NOWAIT and sizes of pipes are refused",
            ),
            ("net", "ipc and network namespaces of its own"),
            ("mounts", "/dev/shm is private"),
        ],
        guarantees: &[
            "never flock",
            "never inotify_add_watch",
            "never fanotify_init",
            "never mincore",
            "never cachestat",
            "never preadv2(flags has RWF_NOWAIT)",
            "never fcntl(cmd=F_SETPIPE_SZ)",
            "never shmget",
        ],
        tests: &["tests/seccomp/walls.rs no_channel_to_other_runs_and_no_memory_past_the_limits"],
        plan: None,
    },
    Claim {
        id: "bounded",
        text: "Everything is bounded: time, processor, memory, files, output, threads; the section `limits` has the numbers and what happens at each.",
        contrary: "Something is not bounded.",
        by: &[
            ("rlimits", "soft and hard alike, so that nothing inside can move them"),
            ("mounts", "tmpfs sizes and inodes"),
            ("supervisor", "wall time, streams, denials, artifacts"),
            ("seccomp", "memory that no limit counts cannot be had, and no limit can be set"),
        ],
        guarantees: &[
            "never memfd_create",
            "never shmget",
            "never msgget",
            "never prlimit64(new_limit!=NULL)",
            "never setsockopt(optname in {SO_SNDBUF, SO_RCVBUF, SO_SNDBUFFORCE, SO_RCVBUFFORCE})",
        ],
        tests: &[
            "tests/inside/process.rs limits_are_soft_and_hard_alike",
            "tests/status/output.rs exactly_the_cap_is_fine_and_one_byte_more_is_output_limit",
            "tests/status/limits.rs timeout_whatever_the_script_does_against_it",
        ],
        plan: None,
    },
];

/// What stands instead of `no_address` where a policy has egress; what can be reached goes before it.
const ONLY_LISTED: Claim = Claim {
    id: "only_listed",
    text: "Nothing else can be reached: not the host, not 127.0.0.1, not a private, link-local or metadata address, whatever a name says that it is.",
    contrary: "Sockets other than TCP's and the resolver's can be made, or something can listen.",
    by: &[
        (
            "net",
            "a network namespace without a way out: every address is its own, and the supervisor serves the listed ports",
        ),
        (
            "egress",
            "the supervisor judges each name and each address, pins them for the run and dials the address that it judged",
        ),
        ("seccomp", "sockets of TCP and UDP only; bind, listen and accept are refused"),
    ],
    guarantees: &[
        "only socket(domain in {AF_INET, AF_INET6})",
        "never socket(type=SOCK_RAW)",
        "never bind",
        "never listen",
        "only socketpair(domain=AF_UNIX)",
    ],
    tests: &[
        "tests/egress/ssrf.rs the_seven_questions",
        "tests/egress/clients.rs http_client_reaches_an_allowed_name",
    ],
    plan: None,
};

fn reached(egress: &Egress) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match egress.mode {
        EgressMode::Public => {
            let ports = list(egress.ports.iter().map(ToString::to_string).collect());
            format!("Every public address can be reached, by TCP on the ports {ports}.")
        }
        EgressMode::Names if egress.ports.is_empty() => {
            "No name is listed, so nothing can be reached.".to_owned()
        }
        EgressMode::Names => {
            let each = |allowed: &Allowed| {
                allowed.ports.iter().map(|port| format!("{}:{port}", allowed.name)).collect::<Vec<_>>()
            };
            let names = list(egress.allow.iter().flat_map(each).collect());
            format!("Only the names {names} can be reached, by TCP.")
        }
    }
}

/// Where nothing but the address tells names apart, an address that is shared opens all of them.
fn neighbours(egress: &Egress) -> String {
    let unseen: Vec<String> = egress
        .ports
        .iter()
        .filter(|port| egress.sni != Sni::Require || !egress.sni_ports.contains(port))
        .map(ToString::to_string)
        .collect();
    if egress.mode == EgressMode::Public || unseen.is_empty() {
        return String::new();
    }
    format!(
        " On port {} no server name is looked at: every name that shares an address with a listed one can be reached there too.",
        unseen.join(", ")
    )
}

/// Every sentence, held against a policy.
pub fn of(policy: &Policy, plan: &Plan) -> Vec<Sentence> {
    let mut sentences: Vec<Sentence> =
        CLAIMS.iter().map(|claim| judge(claim, policy.filter(), plan)).collect();
    if let Some(egress) = &plan.net.egress {
        let mut told = judge(&ONLY_LISTED, policy.filter(), plan);
        if told.holds {
            told.text = format!("{}{} {}", reached(egress), neighbours(egress), ONLY_LISTED.text);
        }
        for sentence in sentences.iter_mut().filter(|sentence| sentence.id == "no_address") {
            *sentence = told.clone();
        }
    }
    sentences
}

/// Every test that a sentence names, as `file function`.
pub fn tests() -> impl Iterator<Item = &'static str> {
    CLAIMS.iter().chain([&ONLY_LISTED]).flat_map(|claim| claim.tests.iter().copied())
}

fn judge(claim: &Claim, filter: &Compiled, plan: &Plan) -> Sentence {
    let of_plan = claim.plan.and_then(|check| check(plan).err());
    let of_filter = || claim.guarantees.iter().find_map(|sentence| prove(sentence, filter).err());
    // What breaks it in the filter leaves the other walls standing; what breaks it in the plan may be any of them.
    let (broken, left) = match of_plan {
        Some(why) => (Some(why), false),
        None => (of_filter(), true),
    };
    let holds = broken.is_none();
    let mut proof: Vec<Proof> = Vec::new();
    if holds {
        proof.extend(claim.guarantees.iter().map(|sentence| Proof::Guarantee((*sentence).to_owned())));
        proof.extend(claim.tests.iter().map(|test| Proof::Test(test)));
    }
    let stands = |layer: &str, how: &str| {
        (holds || left && layer != "seccomp") && since(how).is_none_or(|abi| abi <= plan.landlock.target_abi)
    };
    Sentence {
        id: claim.id,
        text: claim.text.to_owned(),
        holds,
        by: claim
            .by
            .iter()
            .filter(|(layer, how)| stands(layer, how))
            .map(|(layer, how)| Wall { layer, how: (*how).to_owned() })
            .collect(),
        broken: broken.map(|why| format!("{} {why}", claim.contrary)),
        proof,
    }
}

/// The Landlock ABI without which a wall has nothing to say.
fn since(how: &str) -> Option<u32> {
    how.split_once("from ABI ")?.1.split(' ').next()?.parse().ok()
}

/// Proves one sentence of a filter's programs, on every architecture.
///
/// # Errors
/// The sentence, with an input that breaks it.
pub fn prove(sentence: &str, filter: &Compiled) -> Result<(), String> {
    let parsed = guarantee::parse(sentence).map_err(|(what, _)| format!("{sentence}: {what}"))?;
    for arch in Arch::ALL {
        parsed
            .prove(arch, filter.program_for(arch))
            .map_err(|broken| format!("`{}` does not hold: {}", broken.claim, broken.witness))?;
    }
    Ok(())
}

/// Is `path` `above`, or below it?
pub(super) fn within(path: &str, above: &str) -> bool {
    above == "/" || path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(super) fn executable_is_not_writable(plan: &Plan) -> Result<(), String> {
    let work: Vec<&str> = paths(plan, |grant| matches!(grant, Grant::Work | Grant::ReadWriteFile));
    for path in paths(plan, |grant| grant == Grant::Execute) {
        if let Some(place) = work.iter().find(|place| within(path, place)) {
            return Err(format!("{path} can be executed, and {place} can be written"));
        }
    }
    let open = plan.mounts.ops.iter().find_map(|op| match op {
        Op::Tmpfs { path, flags, .. } if !flags.contains(&Flag::Noexec) => Some(path),
        _ => None,
    });
    open.map_or(Ok(()), |path| Err(format!("{path} can be written and is not noexec")))
}

fn paths(plan: &Plan, which: impl Fn(Grant) -> bool) -> Vec<&str> {
    plan.landlock.rules.iter().filter(|rule| which(rule.grant)).map(|rule| rule.path.as_str()).collect()
}

fn no_network(plan: &Plan) -> Result<(), String> {
    match plan.net.mode {
        NetworkMode::None => Ok(()),
        NetworkMode::Egress => Err(format!("the network mode is {:?}: {}", plan.net.mode, plan.net.reason)),
    }
}

fn writes_in_the_workdir(plan: &Plan) -> Result<(), String> {
    // Other names of folders in /workdir.
    let aliases: Vec<(&str, &str)> = plan
        .mounts
        .ops
        .iter()
        .filter_map(|op| match op {
            Op::Alias { from, path, .. } => Some((path.as_str(), from.as_str())),
            _ => None,
        })
        .collect();
    for path in paths(plan, |grant| grant == Grant::Work) {
        let alias = aliases.iter().any(|(name, from)| *name == path && within(from, "/workdir"));
        if !within(path, "/workdir") && !alias && path != "/dev/shm" {
            return Err(format!("{path} can be written"));
        }
    }
    let writable = plan.mounts.ops.iter().find_map(|op| match op {
        Op::Bind { path, flags, source: Source::Runtime(_) | Source::Host(_), .. }
            if !flags.contains(&Flag::Ro) =>
        {
            Some(path)
        }
        _ => None,
    });
    writable.map_or(Ok(()), |path| Err(format!("{path} is bound and not read-only")))
}

fn binds_only_the_runtime(plan: &Plan) -> Result<(), String> {
    let bound = plan.mounts.ops.iter().find_map(|op| match op {
        Op::Bind { path, source: Source::Host(source), .. } => Some((path, source)),
        _ => None,
    });
    bound.map_or(Ok(()), |(path, source)| Err(format!("{} of the host is {path}", source.display())))
}

fn no_privilege(plan: &Plan) -> Result<(), String> {
    if plan.privs.capabilities.is_empty() && plan.privs.no_new_privs {
        Ok(())
    } else {
        Err("a capability is left".to_owned())
    }
}
