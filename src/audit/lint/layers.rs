//! Layers that promise less than the sentences say, ids, and the policy as a whole.

use super::Severity::{Error, Note, Warning};
use super::{Find, Hit, Rule, Subject, holds};
use crate::audit::sentences::executable_is_not_writable;
use crate::audit::units::bytes;
use crate::policy::{CgroupMode, Contract, DeviceName, NetworkMode, Policy, SHIPPED};
use std::path::Path;

/// Below lie the ids of users, services, containers and subordinate ranges, as distributions and systemd hand them out.
const FIRST_UNOWNED_ID: u32 = 1_879_048_192;

fn one(pointer: &str, wrong: bool, what: impl FnOnce() -> String) -> Vec<Hit> {
    if wrong { vec![Hit::policy(pointer, what())] } else { Vec::new() }
}

/// A file whose name another policy, a shipped one, has.
fn takes_a_shipped_name(s: &Subject<'_>) -> Vec<Hit> {
    let shipped = SHIPPED.iter().any(|(name, _)| *name == s.word);
    let same = || Policy::load(s.policy.name()).is_ok_and(|other| other.digest() == s.policy.digest());
    let taken = SHIPPED.iter().any(|(name, _)| *name == s.policy.name());
    one("/name", !shipped && taken && !same(), || {
        format!("`name` is {:?}, and this is not the shipped policy of that name", s.policy.name())
    })
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "SJ-P020",
        name: "landlock-floor-refuses-renames",
        severity: Warning,
        why: "ABI 1 cannot grant renames and links between directories, so it refuses them: archives and atomic writes fail with EXDEV.",
        source: "landlock(7)",
        fix: "Set landlock.require_abi to 2: Debian 12 has it.",
        find: Find::With(|s| {
            one("/landlock/require_abi", s.plan.landlock.require_abi < 2, || {
                "landlock.require_abi is 1".to_owned()
            })
        }),
    },
    Rule {
        id: "SJ-P021",
        name: "landlock-target-low",
        severity: Warning,
        why: "A kernel that could scope signals and abstract sockets, and hold TCP and devices, is not asked to.",
        source: "landlock(7); landlock-lsm/linux#54",
        fix: "Set landlock.target_abi to 6 or more; what a kernel does not know is told in the result.",
        find: Find::With(|s| {
            one("/landlock/target_abi", s.plan.landlock.target_abi < 6, || {
                format!("landlock.target_abi is {}", s.plan.landlock.target_abi)
            })
        }),
    },
    Rule {
        id: "SJ-P022",
        name: "landlock-floor-below-the-sentences",
        severity: Warning,
        why: "Where the filter allows sockets and the policy has no egress, whose broker then says what a connection reaches, TCP is Landlock's to hold from ABI 4 on and abstract sockets from ABI 6 on; below, the network namespace is the only wall.",
        source: "landlock(7)",
        fix: "Set landlock.require_abi to 6, or refuse socket in the filter.",
        find: Find::With(|s| {
            one(
                "/landlock/require_abi",
                s.plan.net.egress.is_none() && s.plan.landlock.require_abi < 6 && !holds(s, "never socket"),
                || {
                    format!(
                        "the filter allows sockets, and landlock.require_abi is {}",
                        s.plan.landlock.require_abi
                    )
                },
            )
        }),
    },
    Rule {
        id: "SJ-P023",
        name: "writable-and-executable",
        severity: Error,
        why: "What the script wrote could be executed.",
        source: "CVE-2019-5736",
        fix: "Nothing that Landlock grants to execute may lie below a place that can be written, and each tmpfs is noexec.",
        find: Find::With(|s| {
            executable_is_not_writable(s.plan)
                .err()
                .map(|what| Hit::policy("/landlock", what))
                .into_iter()
                .collect()
        }),
    },
    Rule {
        id: "SJ-P024",
        name: "outer-ids-of-others",
        severity: Warning,
        why: "A run of root's that is mapped to an id which a user, a service or a container has, is that user to the host's files and signals.",
        source: "systemd: Users, Groups, UIDs and GIDs",
        fix: "Take a range from 1879048192 to 2147483647.",
        find: Find::With(|s| {
            let ids = &s.policy.file().outer_ids;
            let last = ids.first.saturating_add(ids.count - 1);
            one("/outer_ids", ids.first < FIRST_UNOWNED_ID || last > i32::MAX.cast_unsigned(), || {
                format!("outer_ids are {} to {last}", ids.first)
            })
        }),
    },
    Rule {
        id: "SJ-P025",
        name: "outer-ids-few",
        severity: Note,
        why: "Each run of root's holds one id: with none left the next run is refused.",
        source: "",
        fix: "Give it as many ids as runs may be at work at once, with room.",
        find: Find::With(|s| {
            one("/outer_ids/count", s.policy.file().outer_ids.count < 64, || {
                format!("outer_ids.count is {}", s.policy.file().outer_ids.count)
            })
        }),
    },
    Rule {
        id: "SJ-P026",
        name: "contract-optional",
        severity: Note,
        why: "A skill without xray.json gets any JSON object as its input, unchecked, and any of its scripts can be asked for.",
        source: "",
        fix: "Say `contract: required` where every skill has an xray.json.",
        find: Find::With(|s| {
            one("/contract", s.policy.file().contract == Contract::Optional, || {
                "contract is optional".to_owned()
            })
        }),
    },
    Rule {
        id: "SJ-P027",
        name: "tmpfs-without-cgroup",
        severity: Warning,
        why: "Without a cgroup nothing counts tmpfs pages as memory: each run can take that much of the host's on top of limits.memory.",
        source: "moby/moby#39004",
        fix: "Say `cgroup: required`, or make the workdir smaller.",
        find: Find::With(|s| {
            let size = s.plan.limits.workdir_bytes.value + s.plan.limits.shm_bytes.value;
            one("/limits/workdir", s.plan.cgroup.mode == CgroupMode::Optional && size > 2 << 30, || {
                format!("{} of tmpfs, and the cgroup is optional", bytes(size))
            })
        }),
    },
    Rule {
        id: "SJ-P028",
        name: "sockets-without-network",
        severity: Warning,
        why: "Sockets that can reach nothing are attack surface of the kernel and nothing else.",
        source: "CVE-2022-0185, CVE-2021-26708",
        fix: "Refuse socket in the filter, as `default` does.",
        find: Find::With(|s| {
            one("/filter", s.plan.net.mode == NetworkMode::None && !holds(s, "never socket"), || {
                "network.mode is none, and the filter allows socket".to_owned()
            })
        }),
    },
    Rule {
        id: "SJ-P029",
        name: "device-missing",
        severity: Note,
        why: "Programs expect /dev/null, and older libraries take their random numbers from /dev/urandom.",
        source: "",
        fix: "List both; neither reaches anything.",
        find: Find::With(|s| {
            let has = |name| s.policy.file().devices.iter().any(|device| device.name == name);
            one("/devices", !has(DeviceName::Null) || !has(DeviceName::Urandom), || {
                "null or urandom is not listed".to_owned()
            })
        }),
    },
    Rule {
        id: "SJ-P030",
        name: "no-guarantees",
        severity: Warning,
        why: "Without sentences of its own a policy follows its filter wherever a later edit takes that.",
        source: "",
        fix: "Write down in `guarantees` what must stay true: each is proven whenever the policy is loaded.",
        find: Find::With(|s| {
            one("", s.policy.file().guarantees.is_empty(), || "`guarantees` is empty".to_owned())
        }),
    },
    Rule {
        id: "SJ-P031",
        name: "shipped-name-taken",
        severity: Warning,
        why: "Results and logs name the policy: a reader would take this one for the shipped one.",
        source: "",
        fix: "Give it a name of its own.",
        find: Find::With(takes_a_shipped_name),
    },
    Rule {
        id: "SJ-P032",
        name: "name-differs-from-file",
        severity: Note,
        why: "Results and logs name the policy, not the file: nobody finds it then.",
        source: "",
        fix: "Name the file as the policy.",
        find: Find::With(|s| {
            let path = Path::new(s.word);
            let differs =
                path.extension().is_some() && path.file_stem().is_some_and(|stem| stem != s.policy.name());
            one("/name", differs, || format!("`name` is {:?} in {}", s.policy.name(), s.word))
        }),
    },
];
