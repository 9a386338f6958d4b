//! The words for a cause: what it is in one sentence, and the facts that speak for it.

use super::cause::Cause;
use super::{Host, Landlock};
use nix::errno::Errno;

/// The oldest kernel that has a step.
fn since(step: &str) -> &'static str {
    match step {
        "landlock" => {
            "Landlock with the rights that the policy asks for (ABI 2 is Linux 5.19, ABI 1 is 5.13)"
        }
        "pidfd_getfd" => "pidfd_getfd (Linux 5.6)",
        "seccomp" => "seccomp user notification (Linux 5.0)",
        "mount" | "pivot_root" => "the mount calls used (Linux 5.12)",
        _ => "the call (clone3 is Linux 5.3)",
    }
}

/// The cause in one sentence.
pub(super) fn what(cause: Cause, step: &str, errno: i32, host: &Host) -> String {
    let fixed = match cause {
        Cause::UsernsNotBuilt => {
            "this kernel was built without one of the namespaces (CONFIG_USER_NS and its like)"
        }
        Cause::UsernsSwitchedOff => {
            "kernel.unprivileged_userns_clone=0 keeps user namespaces from ordinary users"
        }
        Cause::UsernsLimit => "user.max_user_namespaces leaves no user namespace to make",
        Cause::UsernsNesting => "user namespaces are nested 32 deep already",
        Cause::NamespaceLimit => "a limit on the number of namespaces is reached (user.max_*_namespaces)",
        Cause::ApparmorUserns => "AppArmor takes the capabilities away in an ordinary user's namespace",
        Cause::ApparmorProfile => "the AppArmor profile that this process runs under refuses it",
        Cause::LsmDenied => "a security module refuses it",
        Cause::OuterSeccomp => "a seccomp filter around this process refuses it",
        Cause::Chroot => "this process lives in a chroot, where the kernel makes no user namespace",
        Cause::RootNotPivotable => {
            "/ cannot be pivoted away from: it is the initial RAM file system or no mount"
        }
        Cause::ProcMissing => "/proc is missing or read-only, so the id maps cannot be written",
        Cause::SetuidStart => {
            "it was started setuid, setgid or with file capabilities, and refuses to work so"
        }
        Cause::RootWithoutSetuid => "root without CAP_SETUID cannot change to an ordinary user",
        Cause::NoSpareUid => {
            "root in a user namespace that does not map the policy's outer_ids cannot change to one of them"
        }
        Cause::UidUnmapped => "this process's own uid is not mapped in its user namespace",
        Cause::KernelTooOld => {
            return format!("kernel {} does not have {}", host.kernel.release, since(step));
        }
        Cause::LandlockNotInLsm => "Landlock is in the kernel but not in the boot's lsm= list",
        Cause::LandlockNotBuilt => "this kernel was built without Landlock",
        Cause::LandlockStackFull => "sixteen Landlock rulesets are stacked on this process already",
        Cause::SeccompNotBuilt => "this kernel was built without seccomp filters",
        Cause::ListenerTaken => "another supervisor already listens to this process's seccomp filters",
        Cause::YamaForbids => "Yama forbids tracing, which taking over the listener needs",
        Cause::ProcessLimit => "no process more can be made: RLIMIT_NPROC or a pids limit is reached",
        Cause::DescriptorLimit => "no descriptor more can be opened",
        Cause::OutOfMemory => "the kernel has no memory for it",
        Cause::CgroupNotV2 => "the directory is not in a cgroup version 2 hierarchy",
        Cause::CgroupReadOnly => "the cgroup hierarchy is mounted read-only",
        Cause::CgroupNotDelegated => {
            "the cgroup directory, or the group that it shares with us, is not ours to write"
        }
        Cause::CgroupControllers => {
            "the memory and pids controllers are not enabled for the directory's children"
        }
        Cause::Unknown if errno == 0 => return format!("{step} failed"),
        Cause::Unknown => return format!("{step} failed with {}", Errno::from_raw(errno).desc()),
    };
    fixed.to_owned()
}

/// The facts that speak for the cause, the kernel's answer first.
pub(super) fn evidence(cause: Cause, step: &str, errno: i32, host: &Host) -> Vec<String> {
    let mut facts = Vec::new();
    if errno != 0 {
        facts.push(format!("{step}: {:?}", Errno::from_raw(errno)));
    }
    let number = |name: &str, value: Option<u64>| value.map(|value| format!("{name}={value}"));
    let switch = host.apparmor_restrict_unprivileged_userns;
    let label = host.lsm_label.as_ref().map(|label| format!("/proc/self/attr/current is {label:?}"));
    let filter = (host.seccomp_mode == 2).then(|| "Seccomp: 2 in /proc/self/status".to_owned());
    let container = host.container.as_ref().map(|container| container.evidence.clone());
    let privs = host.no_new_privs.then(|| "NoNewPrivs: 1".to_owned());
    let modules = host.lsm.as_ref().map(|lsm| format!("/sys/kernel/security/lsm is {:?}", lsm.join(",")));
    let map = host.uid_map.iter().map(|r| format!("{} {} {}", r.inside, r.outside, r.count));
    let map = format!("uid_map is {:?}", map.collect::<Vec<_>>().join(", "));
    let more = match cause {
        Cause::UsernsSwitchedOff => {
            vec![number("kernel.unprivileged_userns_clone", host.unprivileged_userns_clone)]
        }
        Cause::UsernsLimit | Cause::NamespaceLimit => {
            vec![number("user.max_user_namespaces", host.max_user_namespaces)]
        }
        Cause::ApparmorUserns => {
            let bounding =
                (host.capabilities.bounding != 0).then(|| format!("CapBnd {:x}", host.capabilities.bounding));
            vec![number("kernel.apparmor_restrict_unprivileged_userns", switch), label, bounding, privs]
        }
        Cause::ApparmorProfile => vec![label, container],
        Cause::OuterSeccomp => vec![filter, container, privs],
        Cause::LsmDenied => vec![modules, label],
        Cause::KernelTooOld if step == "landlock" => {
            vec![Some(format!("Landlock ABI {}", host.landlock.abi()))]
        }
        Cause::LandlockNotInLsm | Cause::LandlockNotBuilt => {
            let abi = (host.landlock == Landlock::NotInLsm)
                .then(|| "landlock_create_ruleset: EOPNOTSUPP".to_owned());
            vec![abi.filter(|_| errno == 0), modules, Some(format!("kernel {}", host.kernel.release))]
        }
        Cause::Chroot | Cause::RootNotPivotable => {
            vec![
                (host.root_is_mount == Some(false)).then(|| "/ is not the root of a mount".to_owned()),
                container,
            ]
        }
        Cause::SetuidStart => vec![Some(format!(
            "uid {} euid {}, gid {} egid {}, AT_SECURE {}",
            host.ids.uid,
            host.ids.euid,
            host.ids.gid,
            host.ids.egid,
            u8::from(host.at_secure)
        ))],
        Cause::RootWithoutSetuid => {
            vec![Some(format!("CapEff {:x}", host.capabilities.effective)), container]
        }
        Cause::NoSpareUid | Cause::UidUnmapped => vec![Some(map)],
        Cause::YamaForbids => vec![number("kernel.yama.ptrace_scope", host.yama_ptrace_scope)],
        Cause::CgroupNotV2 | Cause::CgroupReadOnly | Cause::CgroupNotDelegated | Cause::CgroupControllers => {
            cgroup_evidence(host)
        }
        _ => Vec::new(),
    };
    facts.extend(more.into_iter().flatten());
    facts
}

fn cgroup_evidence(host: &Host) -> Vec<Option<String>> {
    let Some(dir) = &host.cgroup.dir else { return Vec::new() };
    let mounted = host.cgroup.v2_mount.as_ref().map(|mount| format!("cgroup2 is at {}", mount.display()));
    let v1 = (!host.cgroup.v1_mounts.is_empty())
        .then(|| format!("{} controllers are held by version 1 hierarchies", host.cgroup.v1_mounts.len()));
    vec![
        Some(format!("directory {}", dir.path.display())),
        mounted,
        dir.is_v2.then(|| format!("cgroup.controllers {:?}", dir.controllers.join(" "))),
        dir.is_v2.then(|| format!("cgroup.subtree_control {:?}", dir.subtree_control.join(" "))),
        v1,
    ]
}
