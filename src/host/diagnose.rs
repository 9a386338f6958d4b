//! From a step and its errno to the one cause.

use super::cause::{Cause, Diagnosis};
use super::fix::fixes;
use super::words::{evidence, what};
use super::{Host, Landlock};
use caps::Capability::{CAP_SETUID, CAP_SYS_ADMIN};
use nix::errno::Errno;

/// Names the one cause of a failed step. `host` should come from [`Host::probe`]: what it does not know cannot be named.
///
/// Steps: `clone` (user and other namespaces), `setgroups`, `uid_map`, `gid_map`, `setresuid`, `net` (lo up), `mount`,
/// `pivot_root`, `landlock` (errno 0: the ABI is below the policy's floor), `seccomp` (with a listener), `pidfd_getfd`, `start` (errno 0: how this process was
/// started), `cgroup`. Any other name is explained by its errno alone.
pub fn diagnose(step: &str, errno: i32, host: &Host) -> Diagnosis {
    let errno_name = Errno::from_raw(errno);
    let cause = exhausted(step, errno_name).unwrap_or_else(|| match step {
        "start" => start(host),
        "clone" | "fork" => clone(errno_name, host),
        "uid_map" | "gid_map" | "setgroups" | "setresuid" | "setresgid" => id_map(step, errno_name, host),
        "net" | "mount" | "pivot_root" | "umount" => inside(step, errno_name, host),
        "landlock" => landlock(errno_name, host),
        "seccomp" => seccomp(errno_name, host),
        "pidfd_getfd" => pidfd_getfd(errno_name, host),
        "cgroup" => cgroup(errno_name, host),
        _ if refused(errno_name) => refuser(host),
        _ => Cause::Unknown,
    });
    Diagnosis {
        cause,
        step: step.to_owned(),
        errno,
        what: what(cause, step, errno, host),
        evidence: evidence(cause, step, errno, host),
        fixes: fixes(cause, host),
    }
}

/// The same for a layer's failed step, in a run's own words ([`diagnose`] has its own).
pub fn diagnose_layer(layer: &str, step: &str, errno: i32, host: &Host) -> Diagnosis {
    Diagnosis { step: step.to_owned(), ..diagnose(class_of(layer, step), errno, host) }
}

/// Which step of [`diagnose`] a layer's step is.
fn class_of(layer: &str, step: &str) -> &'static str {
    let says = |words: &str| step.contains(words);
    match layer {
        "idmap" if says("uid_map") || says("getuid") => "uid_map",
        "idmap" if says("gid_map") => "gid_map",
        "idmap" if says("/setgroups") => "setgroups",
        "idmap" if says("setgroups") || says("setres") => "setresuid",
        "mounts" if says("pivot_root") => "pivot_root",
        "mounts" if says("mount") || says("fsopen") || says("fsconfig") || says("open_tree") => "mount",
        "net" => "net",
        "landlock" => "landlock",
        "seccomp" if says("listener") || says("pidfd_getfd") => "pidfd_getfd",
        "seccomp" => "seccomp",
        "cgroup" => "cgroup",
        _ if says("clone3 (init)") => "fork",
        _ if says("clone3") => "clone",
        _ if says("started set-user-ID") => "start",
        _ => "other",
    }
}

fn refused(errno: Errno) -> bool {
    matches!(errno, Errno::EPERM | Errno::EACCES)
}

/// What no setting of this step explains.
fn exhausted(step: &str, errno: Errno) -> Option<Cause> {
    match errno {
        Errno::EMFILE | Errno::ENFILE => Some(Cause::DescriptorLimit),
        Errno::ENOMEM => Some(Cause::OutOfMemory),
        Errno::EAGAIN if step == "clone" || step == "fork" => Some(Cause::ProcessLimit),
        _ => None,
    }
}

/// Who else can answer EPERM: the profile that names us, the filter that was there before us, or a module.
fn refuser(host: &Host) -> Cause {
    if label_of_a_profile(host).is_some() {
        Cause::ApparmorProfile
    } else if host.seccomp_mode == 2 {
        Cause::OuterSeccomp
    } else if host.lsm.iter().flatten().any(|module| module == "selinux") {
        Cause::LsmDenied
    } else {
        Cause::Unknown
    }
}

/// An `AppArmor` profile in enforce mode that is not Ubuntu's own for user namespaces.
fn label_of_a_profile(host: &Host) -> Option<&str> {
    let label = host.lsm_label.as_deref()?;
    (label.ends_with("(enforce)") && !label.contains("unprivileged_userns")).then_some(label)
}

fn restricted_by_apparmor(host: &Host) -> bool {
    host.apparmor_restrict_unprivileged_userns.is_some_and(|value| value != 0)
        && !host.capabilities.has(CAP_SYS_ADMIN)
}

fn start(host: &Host) -> Cause {
    if host.at_secure || host.ids.uid != host.ids.euid || host.ids.gid != host.ids.egid {
        Cause::SetuidStart
    } else if host.ids.uid == 0 && !host.capabilities.has(CAP_SETUID) {
        Cause::RootWithoutSetuid
    } else if host.ids.uid == 0 && !host.has_outer_ids() {
        Cause::NoSpareUid
    } else {
        Cause::Unknown
    }
}

fn clone(errno: Errno, host: &Host) -> Cause {
    match errno {
        Errno::ENOSPC if host.max_user_namespaces.is_none_or(|limit| limit == 0) => Cause::UsernsLimit,
        Errno::ENOSPC => Cause::NamespaceLimit,
        Errno::EUSERS => Cause::UsernsNesting,
        Errno::EINVAL => Cause::UsernsNotBuilt,
        Errno::ENOSYS if host.seccomp_mode == 2 => Cause::OuterSeccomp,
        Errno::ENOSYS => Cause::KernelTooOld,
        _ if !refused(errno) => Cause::Unknown,
        _ if host.unprivileged_userns_clone == Some(0) && !host.capabilities.has(CAP_SYS_ADMIN) => {
            Cause::UsernsSwitchedOff
        }
        _ if host.root_is_mount == Some(false) => Cause::Chroot,
        _ if restricted_by_apparmor(host) => Cause::ApparmorUserns,
        // Docker's profile of AppArmor lets user namespaces pass, its filter does not.
        _ if host.seccomp_mode == 2 => Cause::OuterSeccomp,
        _ if unmapped(host) => Cause::UidUnmapped,
        _ => refuser(host),
    }
}

fn unmapped(host: &Host) -> bool {
    let holds =
        |range: &super::IdRange| host.ids.euid >= range.inside && host.ids.euid - range.inside < range.count;
    !host.uid_map.is_empty() && !host.uid_map.iter().any(holds)
}

fn id_map(step: &str, errno: Errno, host: &Host) -> Cause {
    let changes_id = step.starts_with("setres");
    match errno {
        Errno::ENOENT | Errno::ENOTDIR | Errno::EROFS => Cause::ProcMissing,
        Errno::EINVAL if changes_id => Cause::NoSpareUid,
        _ if !refused(errno) => Cause::Unknown,
        _ if host.ids.uid == 0 && !host.capabilities.has(CAP_SETUID) => Cause::RootWithoutSetuid,
        _ if restricted_by_apparmor(host) => Cause::ApparmorUserns,
        _ if host.ids.uid == 0 && !host.has_outer_ids() => Cause::NoSpareUid,
        _ => refuser(host),
    }
}

fn inside(step: &str, errno: Errno, host: &Host) -> Cause {
    match errno {
        Errno::EINVAL if step == "pivot_root" => Cause::RootNotPivotable,
        Errno::ENOSYS if host.seccomp_mode == 2 => Cause::OuterSeccomp,
        Errno::ENOSYS => Cause::KernelTooOld,
        _ if !refused(errno) => Cause::Unknown,
        _ if restricted_by_apparmor(host) => Cause::ApparmorUserns,
        _ => refuser(host),
    }
}

fn landlock(errno: Errno, host: &Host) -> Cause {
    match errno {
        Errno::EOPNOTSUPP => Cause::LandlockNotInLsm,
        Errno::ENOSYS if host.kernel.version < (5, 13) => Cause::KernelTooOld,
        Errno::ENOSYS if host.seccomp_mode == 2 => Cause::OuterSeccomp,
        Errno::ENOSYS => Cause::LandlockNotBuilt,
        Errno::E2BIG => Cause::LandlockStackFull,
        Errno::UnknownErrno if matches!(host.landlock, Landlock::Abi(_)) => Cause::KernelTooOld,
        _ if refused(errno) => refuser(host),
        _ => Cause::Unknown,
    }
}

fn seccomp(errno: Errno, host: &Host) -> Cause {
    match errno {
        Errno::EBUSY => Cause::ListenerTaken,
        Errno::EINVAL if host.kernel.version < (5, 0) => Cause::KernelTooOld,
        Errno::EINVAL | Errno::ENOSYS if host.seccomp_mode != 2 => Cause::SeccompNotBuilt,
        _ => refuser(host),
    }
}

fn pidfd_getfd(errno: Errno, host: &Host) -> Cause {
    match errno {
        Errno::ENOSYS if host.kernel.version < (5, 6) => Cause::KernelTooOld,
        Errno::ENOSYS => Cause::OuterSeccomp,
        _ if !refused(errno) => Cause::Unknown,
        _ if host.yama_ptrace_scope.is_some_and(|scope| scope >= 2) => Cause::YamaForbids,
        _ => refuser(host),
    }
}

fn cgroup(errno: Errno, host: &Host) -> Cause {
    match &host.cgroup.dir {
        Some(dir) if !dir.is_v2 => Cause::CgroupNotV2,
        Some(dir) if dir.read_only => Cause::CgroupReadOnly,
        _ if errno == Errno::EROFS => Cause::CgroupReadOnly,
        _ if refused(errno) => Cause::CgroupNotDelegated,
        Some(dir) if ["memory", "pids"].iter().any(|name| !dir.subtree_control.iter().any(|c| c == name)) => {
            Cause::CgroupControllers
        }
        _ => Cause::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::diagnose;
    use crate::host::checkup::Status::{Missing, NotTried, Ok};
    use crate::host::checkup::{Attempts, Checkup};
    use crate::host::probes::Tried;
    use crate::host::{Cause, CgroupDir, Container, Diagnosis, Host, IdRange, Kernel, Landlock, Place};
    use std::path::PathBuf;

    fn made_up(change: impl FnOnce(&mut Host)) -> Host {
        let mut host = Host::capable();
        change(&mut host);
        host
    }

    fn ubuntu() -> Host {
        made_up(|host| {
            host.apparmor_restrict_unprivileged_userns = Some(1);
            host.exe = Some(PathBuf::from("/opt/my tools/skilljail[1]"));
        })
    }

    fn docker() -> Host {
        made_up(|host| {
            host.seccomp_mode = 2;
            let evidence = "/.dockerenv is there".to_owned();
            host.container = Some(Container { engine: Place::Docker, evidence });
        })
    }

    fn delegated(change: impl FnOnce(&mut CgroupDir)) -> Host {
        let both = || ["memory", "pids"].map(str::to_owned).to_vec();
        let path = PathBuf::from("/sys/fs/cgroup/x");
        let mut dir =
            CgroupDir { path, is_v2: true, read_only: false, controllers: both(), subtree_control: both() };
        change(&mut dir);
        made_up(|host| host.cgroup.dir = Some(dir))
    }

    #[test]
    fn each_step_and_errno_has_its_cause() {
        let old = |release| made_up(|host| host.kernel = Kernel::of_release(release));
        let root = |change: fn(&mut Host)| {
            made_up(|host| {
                (host.ids.uid, host.ids.euid) = (0, 0);
                host.capabilities.effective = host.capabilities.bounding;
                change(host);
            })
        };
        let enforced = || made_up(|host| host.lsm_label = Some("docker-default (enforce)".to_owned()));
        let yama = |scope| made_up(|host| host.yama_ptrace_scope = Some(scope));
        let one = IdRange { inside: 0, outside: 1001, count: 1 };
        let table: Vec<(&str, i32, Host, Cause)> = vec![
            (
                "clone",
                libc::EPERM,
                made_up(|h| h.unprivileged_userns_clone = Some(0)),
                Cause::UsernsSwitchedOff,
            ),
            ("clone", libc::ENOSPC, made_up(|h| h.max_user_namespaces = Some(0)), Cause::UsernsLimit),
            ("clone", libc::ENOSPC, Host::capable(), Cause::NamespaceLimit),
            ("clone", libc::EUSERS, Host::capable(), Cause::UsernsNesting),
            ("clone", libc::EINVAL, Host::capable(), Cause::UsernsNotBuilt),
            ("clone", libc::EAGAIN, Host::capable(), Cause::ProcessLimit),
            ("clone", libc::ENOMEM, Host::capable(), Cause::OutOfMemory),
            ("clone", libc::EPERM, docker(), Cause::OuterSeccomp),
            ("clone", libc::ENOSYS, docker(), Cause::OuterSeccomp),
            ("clone", libc::ENOSYS, old("5.2.0"), Cause::KernelTooOld),
            ("clone", libc::EPERM, made_up(|h| h.root_is_mount = Some(false)), Cause::Chroot),
            ("clone", libc::EPERM, made_up(|h| h.uid_map = vec![one]), Cause::UidUnmapped),
            ("clone", libc::EPERM, made_up(|h| h.lsm = Some(vec!["selinux".to_owned()])), Cause::LsmDenied),
            ("clone", libc::EPERM, Host::capable(), Cause::Unknown),
            ("clone", libc::EACCES, ubuntu(), Cause::ApparmorUserns),
            ("uid_map", libc::EPERM, ubuntu(), Cause::ApparmorUserns),
            ("net", libc::EPERM, ubuntu(), Cause::ApparmorUserns),
            ("mount", libc::EACCES, ubuntu(), Cause::ApparmorUserns),
            ("mount", libc::EACCES, enforced(), Cause::ApparmorProfile),
            ("mount", libc::EPERM, docker(), Cause::OuterSeccomp),
            ("mount", libc::ENOSPC, docker(), Cause::Unknown),
            ("pivot_root", libc::EINVAL, Host::capable(), Cause::RootNotPivotable),
            ("uid_map", libc::ENOENT, Host::capable(), Cause::ProcMissing),
            ("start", 0, made_up(|h| h.at_secure = true), Cause::SetuidStart),
            ("start", 0, made_up(|h| h.ids.euid = 0), Cause::SetuidStart),
            ("start", 0, root(|h| h.capabilities.effective = 0), Cause::RootWithoutSetuid),
            ("setresuid", libc::EPERM, root(|h| h.capabilities.effective = 0), Cause::RootWithoutSetuid),
            ("setresuid", libc::EINVAL, root(|_| ()), Cause::NoSpareUid),
            ("landlock", libc::EOPNOTSUPP, Host::capable(), Cause::LandlockNotInLsm),
            ("landlock", libc::ENOSYS, old("5.10.0-28-amd64"), Cause::KernelTooOld),
            ("landlock", libc::ENOSYS, Host::capable(), Cause::LandlockNotBuilt),
            ("landlock", libc::ENOSYS, docker(), Cause::OuterSeccomp),
            ("landlock", libc::E2BIG, Host::capable(), Cause::LandlockStackFull),
            ("landlock", 0, made_up(|h| h.landlock = Landlock::Abi(1)), Cause::KernelTooOld),
            ("seccomp", libc::EBUSY, Host::capable(), Cause::ListenerTaken),
            ("seccomp", libc::EINVAL, old("4.19.0"), Cause::KernelTooOld),
            ("seccomp", libc::EINVAL, Host::capable(), Cause::SeccompNotBuilt),
            ("pidfd_getfd", libc::ENOSYS, old("5.4.0"), Cause::KernelTooOld),
            ("pidfd_getfd", libc::EPERM, yama(3), Cause::YamaForbids),
            ("pidfd_getfd", libc::EPERM, yama(1), Cause::Unknown),
            ("pidfd_getfd", libc::EMFILE, yama(3), Cause::DescriptorLimit),
            ("cgroup", libc::ENOENT, delegated(|dir| dir.is_v2 = false), Cause::CgroupNotV2),
            ("cgroup", libc::EROFS, delegated(|dir| dir.read_only = true), Cause::CgroupReadOnly),
            ("cgroup", libc::EACCES, delegated(|_| ()), Cause::CgroupNotDelegated),
            ("cgroup", libc::ENOENT, delegated(|dir| dir.subtree_control.clear()), Cause::CgroupControllers),
            ("unheard_of", libc::EPERM, docker(), Cause::OuterSeccomp),
        ];
        for (step, errno, host, cause) in table {
            let found = diagnose(step, errno, &host);
            assert_eq!(found.cause, cause, "{step} {errno}: {found}");
            assert!(!found.what.is_empty() && !found.fixes.is_empty(), "{step} {errno}");
            assert!(errno == 0 || found.evidence[0].starts_with(step), "{step}: {:?}", found.evidence);
        }
    }

    #[test]
    fn a_runs_own_words_lead_to_the_same_cause() {
        let one = IdRange { inside: 0, outside: 1001, count: 1 };
        let root = made_up(|host| {
            (host.ids.uid, host.ids.euid, host.uid_map) = (0, 0, vec![one]);
            host.capabilities.effective = host.capabilities.bounding;
        });
        for (layer, step, errno, host, cause) in [
            (
                "supervisor",
                "clone3",
                libc::ENOSPC,
                made_up(|h| h.max_user_namespaces = Some(0)),
                Cause::UsernsLimit,
            ),
            ("supervisor", "clone3", libc::ENOSYS, docker(), Cause::OuterSeccomp),
            ("init", "clone3 (init)", libc::EAGAIN, docker(), Cause::ProcessLimit),
            ("idmap", "write /proc/PID/uid_map", libc::EPERM, ubuntu(), Cause::ApparmorUserns),
            ("idmap", "write /proc/PID/uid_map", libc::EPERM, root, Cause::NoSpareUid),
            ("idmap", "write /proc/PID/setgroups", libc::ENOENT, Host::capable(), Cause::ProcMissing),
            ("mounts", "fsopen(tmpfs)", libc::EPERM, docker(), Cause::OuterSeccomp),
            ("mounts", "move_mount(root)", libc::EACCES, ubuntu(), Cause::ApparmorUserns),
            ("mounts", "pivot_root", libc::EINVAL, Host::capable(), Cause::RootNotPivotable),
            ("mounts", "symlink", libc::ENOSPC, Host::capable(), Cause::Unknown),
            (
                "landlock",
                "landlock_create_ruleset",
                libc::EOPNOTSUPP,
                Host::capable(),
                Cause::LandlockNotInLsm,
            ),
            (
                "seccomp",
                "seccomp(SECCOMP_SET_MODE_FILTER)",
                libc::EBUSY,
                Host::capable(),
                Cause::ListenerTaken,
            ),
            ("cgroup", "mkdir the leaf", libc::EACCES, delegated(|_| ()), Cause::CgroupNotDelegated),
            (
                "supervisor",
                "started set-user-ID: refused",
                0,
                made_up(|h| h.at_secure = true),
                Cause::SetuidStart,
            ),
        ] {
            let found = super::diagnose_layer(layer, step, errno, &host);
            assert_eq!((found.cause, found.step.as_str()), (cause, step), "{layer}: {found}");
        }
    }

    #[test]
    fn apparmor_is_answered_by_a_profile_of_our_own_first_and_the_switch_for_all_last() {
        let found = diagnose("net", libc::EPERM, &ubuntu());
        let texts: Vec<_> = found.fixes.iter().map(|fix| fix.text.as_str()).collect();
        assert!(
            texts[0].contains("profile skilljail \"/opt/my tools/skilljail\\[1\\]\" flags=(unconfined) {")
        );
        assert!(texts[0].contains("\n  userns,\n"), "{}", texts[0]);
        let with_switch: Vec<_> = (0..texts.len()).filter(|at| texts[*at].contains("sysctl")).collect();
        assert_eq!(with_switch, [texts.len() - 1], "the switch for all comes last");
        assert!(!found.hint().contains("sysctl"), "{}", found.hint());
        assert!(!texts[0].contains("NoNewPrivileges"));
        let confined = made_up(|host| {
            *host = ubuntu();
            host.no_new_privs = true;
            host.lsm_label = Some("a//&unconfined".to_owned());
        });
        let found = diagnose("net", libc::EPERM, &confined);
        assert!(found.fixes[0].text.contains("NoNewPrivileges") && found.fixes[0].text.contains("stacked"));
    }

    #[test]
    fn the_fix_that_fits_the_place_comes_first() {
        for (engine, words) in [
            (Place::Docker, "docker run"),
            (Place::Podman, "podman run"),
            (Place::Kubernetes, "securityContext"),
        ] {
            let mut host = docker();
            host.container = Some(Container { engine, evidence: "seen".to_owned() });
            let found = diagnose("clone", libc::EPERM, &host);
            assert_eq!(found.fixes[0].place, engine);
            assert!(found.fixes[0].text.contains(words) && found.hint().contains(words), "{found:?}");
            assert!(found.to_string().contains("seen"), "{found}");
        }
        let lsm = diagnose("landlock", libc::EOPNOTSUPP, &Host::capable());
        assert!(lsm.fixes[0].text.contains("lsm=landlock,yama,apparmor"), "{:?}", lsm.fixes);
    }

    #[test]
    fn ids_are_the_names_in_snake_case() {
        let found: Diagnosis = diagnose("seccomp", libc::EBUSY, &Host::capable());
        assert_eq!(found.id(), "listener_taken");
        assert_eq!(serde_json::to_value(&found).unwrap()["cause"], "listener_taken");
    }

    #[test]
    fn a_made_up_host_on_which_steps_fail_has_one_cause_and_what_hangs_on_it_is_not_tried() {
        let all =
            ["clone", "setgroups", "uid_map", "gid_map", "net", "mount", "pivot_root", "landlock", "seccomp"];
        let good = |step| Tried { step, errno: 0 };
        let mut attempts =
            Attempts { steps: all.into_iter().chain(["pidfd_getfd"]).map(good).collect(), cgroup: None };
        assert!(Checkup::judge(Host::capable(), &attempts).ok);

        attempts.steps.retain(|tried| !["mount", "pivot_root"].contains(&tried.step));
        attempts
            .steps
            .iter_mut()
            .filter(|tried| tried.step == "net")
            .for_each(|tried| tried.errno = libc::EPERM);
        let ill = Checkup::judge(ubuntu(), &attempts);
        assert_eq!(ill.cause.map(|cause| cause.cause), Some(Cause::ApparmorUserns));
        let states: Vec<_> =
            ill.checks.iter().filter(|check| check.needed).map(|c| (c.name, c.status)).collect();
        assert_eq!(
            states,
            [
                ("start", Ok),
                ("namespaces", Ok),
                ("id_maps", Ok),
                ("network", Missing),
                ("mounts", NotTried),
                ("pivot_root", NotTried),
                ("landlock", Ok),
                ("seccomp", Ok),
                ("pidfd_getfd", Ok)
            ]
        );
        let nothing = Checkup::judge(Host::capable(), &Attempts::default());
        assert!(!nothing.ok && nothing.cause.is_some(), "what was not tried does not hold");
    }
}
