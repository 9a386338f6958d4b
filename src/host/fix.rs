//! What to do about a cause, in the words of each place. The place that fits this host comes first; what weakens more
//! than this program comes last, and says so.

use super::cause::{Cause, Fix, Place};
use super::{Container, Host};
use std::path::Path;

/// The calls that a container's filter must let pass beside what its default lets pass.
const CALLS: &str = "clone, clone3, unshare, mount, umount2, pivot_root, fsopen, fsconfig, fsmount, open_tree, move_mount, \
                     mount_setattr, seccomp, pidfd_open, pidfd_getfd, landlock_create_ruleset, landlock_add_rule, \
                     landlock_restrict_self, keyctl, sethostname";

/// What to do, best place first.
pub(super) fn fixes(cause: Cause, host: &Host) -> Vec<Fix> {
    let mut fixes = unsorted(cause, host);
    let here = host.container.as_ref().map_or(Place::Debian, |Container { engine, .. }| *engine);
    fixes.sort_by_key(|fix| fix.place != here);
    fixes
}

fn fix(place: Place, text: impl Into<String>) -> Fix {
    Fix { place, text: text.into() }
}

fn unsorted(cause: Cause, host: &Host) -> Vec<Fix> {
    match cause {
        Cause::UsernsSwitchedOff => userns_switched_off(),
        Cause::UsernsLimit | Cause::NamespaceLimit => namespace_limit(),
        Cause::ApparmorUserns => apparmor_userns(host),
        Cause::ApparmorProfile => apparmor_profile(),
        Cause::OuterSeccomp => outer_seccomp(),
        Cause::LandlockNotInLsm => landlock_not_in_lsm(host),
        Cause::RootWithoutSetuid => root_without_setuid(),
        Cause::NoSpareUid => no_spare_uid(),
        Cause::CgroupNotDelegated => cgroup_not_delegated(),
        Cause::CgroupReadOnly => cgroup_read_only(),
        Cause::CgroupControllers => cgroup_controllers(host),
        _ => vec![fix(Place::Any, single(cause))],
    }
}

/// Causes with one answer for all places.
fn single(cause: Cause) -> &'static str {
    match cause {
        Cause::UsernsNotBuilt => {
            "run a kernel with CONFIG_USER_NS, NET_NS, PID_NS, IPC_NS, UTS_NS (every distribution's standard kernel has them)"
        }
        Cause::UsernsNesting => "start it from a less deeply nested container",
        Cause::LsmDenied => {
            "ask the module's log what it denied (SELinux: ausearch -m AVC -ts recent) and allow user_namespace create for this program"
        }
        Cause::Chroot => {
            "start it outside of the chroot, or make the new root by pivot_root instead of chroot (systemd-nspawn, bwrap, a container)"
        }
        Cause::RootNotPivotable => {
            "boot with a real root file system, or switch_root out of the initial RAM file system first"
        }
        Cause::ProcMissing => {
            "mount it before: mount -t proc proc /proc (it is needed outside of the jail only)"
        }
        Cause::SetuidStart => {
            "start it as the user itself; take the bits away: chmod u-s,g-s FILE; setcap -r FILE"
        }
        Cause::UidUnmapped => "start it as a uid that /proc/self/uid_map of this container maps",
        Cause::KernelTooOld => {
            "run a newer kernel: Debian 12's and Ubuntu 24.04's have all that the default policy needs"
        }
        Cause::LandlockNotBuilt => {
            "run a kernel with CONFIG_SECURITY_LANDLOCK (Debian 12, Ubuntu 22.04 and later have it)"
        }
        Cause::LandlockStackFull => {
            "start it from a process that is not itself confined by so many Landlock rulesets"
        }
        Cause::SeccompNotBuilt => "run a kernel with CONFIG_SECCOMP_FILTER",
        Cause::ListenerTaken => {
            "start it outside of that supervisor: one chain of filters can have one listener only (LXC and LXD: security.syscalls.intercept.* off for this container)"
        }
        Cause::YamaForbids => {
            "sysctl kernel.yama.ptrace_scope=1, the distributions' default (3 can be left by a reboot only)"
        }
        Cause::ProcessLimit => {
            "raise ulimit -u, TasksMax= of the unit, --pids-limit of the container, or end what is running"
        }
        Cause::DescriptorLimit => "raise ulimit -n (LimitNOFILE= of the unit) or close what is inherited",
        Cause::OutOfMemory => "give the container or the unit more memory, or run fewer at once",
        Cause::CgroupNotV2 => {
            "hand over a directory below the cgroup2 mount; hosts with version 1 need systemd.unified_cgroup_hierarchy=1 on the kernel's command line; or leave --cgroup out"
        }
        _ => "run the same command under strace -f and look for the call that fails",
    }
}

fn userns_switched_off() -> Vec<Fix> {
    let text = "sysctl -w kernel.unprivileged_userns_clone=1, and in /etc/sysctl.d/ to keep it";
    vec![
        fix(Place::Debian, text),
        fix(Place::Any, "or start it as root: it changes to an ordinary uid by itself"),
    ]
}

fn namespace_limit() -> Vec<Fix> {
    vec![
        fix(
            Place::Debian,
            "sysctl -w user.max_user_namespaces=10000 (and its likes: sysctl -a | grep max_.*_namespaces)",
        ),
        fix(
            Place::Any,
            "in a container: the limit may be the container's own or any outer one's; raise it where the container is started",
        ),
    ]
}

/// An `AppArmor` profile for one program, which gives it user namespaces and nothing else changes.
fn profile(exe: &Path) -> String {
    let path = exe.display().to_string();
    // The characters that AppArmor's patterns give a meaning to.
    let mut quoted = String::new();
    for c in path.chars() {
        if "*?[]{}^\"\\@".contains(c) {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    format!(
        "sudo tee /etc/apparmor.d/skilljail <<'EOF'\n\
         abi <abi/4.0>,\n\
         include <tunables/global>\n\
         profile skilljail \"{quoted}\" flags=(unconfined) {{\n\
         \x20 userns,\n\
         \x20 include if exists <local/skilljail>\n\
         }}\n\
         EOF\n\
         sudo apparmor_parser -r /etc/apparmor.d/skilljail"
    )
}

fn apparmor_userns(host: &Host) -> Vec<Fix> {
    let exe = host.exe.as_deref().unwrap_or(Path::new("/usr/bin/skilljail"));
    let mut text =
        format!("give this program, and no other, user namespaces by a profile:\n{}", profile(exe));
    if host.no_new_privs {
        text.push_str("\nand start it without no_new_privs (NoNewPrivileges= of a unit): it keeps a profile from attaching");
    }
    if host.lsm_label.as_deref().is_some_and(|label| label.contains("//&")) {
        text.push_str("\nits label is stacked: start it from a process that is not itself confined");
    }
    vec![
        fix(Place::Debian, text),
        fix(
            Place::Docker,
            "load that profile on the host; --security-opt apparmor=unconfined for the container",
        ),
        fix(
            Place::Podman,
            "load that profile on the host; --security-opt apparmor=unconfined for the container",
        ),
        fix(
            Place::Kubernetes,
            "load that profile on the nodes; securityContext: {appArmorProfile: {type: Localhost, localhostProfile: skilljail}}",
        ),
        fix(
            Place::Any,
            "last resort, for every program of the host: sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ]
}

fn apparmor_profile() -> Vec<Fix> {
    vec![
        fix(
            Place::Docker,
            "docker run --security-opt apparmor=unconfined … (docker-default refuses mount), or a profile with mount, umount, pivot_root and userns",
        ),
        fix(Place::Podman, "podman run --security-opt apparmor=unconfined …"),
        fix(
            Place::Kubernetes,
            "securityContext: {appArmorProfile: {type: Unconfined}}, or a Localhost profile with mount, umount, pivot_root and userns",
        ),
        fix(
            Place::Debian,
            "add to the profile: userns, mount, umount, pivot_root,; aa-complain NAME shows what it would refuse",
        ),
    ]
}

fn outer_seccomp() -> Vec<Fix> {
    let list = format!("its default plus an entry that allows {CALLS}");
    vec![
        fix(
            Place::Docker,
            format!(
                "docker run --security-opt seccomp=FILE --security-opt apparmor=unconfined …: FILE is {list}"
            ),
        ),
        fix(Place::Podman, format!("podman run --security-opt seccomp=FILE …: FILE is {list}")),
        fix(
            Place::Kubernetes,
            format!(
                "securityContext: {{seccompProfile: {{type: Localhost, localhostProfile: FILE}}, appArmorProfile: {{type: Unconfined}}}}: FILE is {list}; hostUsers: false is fine, privileged is not needed"
            ),
        ),
        fix(
            Place::Systemd,
            "take RestrictNamespaces= away and widen SystemCallFilter= by @mount @sandbox @process keyctl pidfd_getfd",
        ),
        fix(
            Place::Any,
            "otherwise start it outside of the program that set the filter (an agent's own sandbox, flatpak, firejail)",
        ),
    ]
}

fn landlock_not_in_lsm(host: &Host) -> Vec<Fix> {
    let mut list = host.lsm.clone().unwrap_or_default();
    list.retain(|module| module != "landlock" && module != "capability");
    list.insert(0, "landlock".to_owned());
    let list = list.join(",");
    vec![
        fix(
            Place::Debian,
            format!(
                "append lsm={list} to GRUB_CMDLINE_LINUX in /etc/default/grub, then: sudo update-grub && sudo reboot"
            ),
        ),
        fix(
            Place::Any,
            format!("in a container it is the host's kernel that must be booted with lsm={list}"),
        ),
    ]
}

fn root_without_setuid() -> Vec<Fix> {
    vec![
        fix(Place::Docker, "docker run --user 1000:1000 … (best), or --cap-add SETUID --cap-add SETGID"),
        fix(Place::Podman, "podman run --user 1000:1000 … (best), or --cap-add SETUID,SETGID"),
        fix(
            Place::Kubernetes,
            "securityContext: {runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true} (best), or capabilities: {add: [SETUID, SETGID]}",
        ),
        fix(Place::Systemd, "User=NAME (best), or CapabilityBoundingSet=CAP_SETUID CAP_SETGID"),
        fix(Place::Debian, "start it as an ordinary user"),
    ]
}

fn no_spare_uid() -> Vec<Fix> {
    vec![
        fix(Place::Debian, "start it as an ordinary user"),
        fix(Place::Docker, "docker run --user 1000:1000 …"),
        fix(Place::Podman, "podman run --userns=keep-id …"),
        fix(Place::Kubernetes, "securityContext: {runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true}"),
        fix(
            Place::Any,
            "or set outer_ids in a policy file to a range that /proc/self/uid_map and gid_map hold here",
        ),
    ]
}

fn cgroup_not_delegated() -> Vec<Fix> {
    vec![
        fix(
            Place::Systemd,
            "Delegate=memory pids cpu and DelegateSubgroup=supervisor; hand over the unit's own directory",
        ),
        fix(
            Place::Debian,
            "systemd-run --user --scope -p Delegate=yes skilljail …; hand over the scope's directory, or a child of it that holds no process",
        ),
        fix(
            Place::Docker,
            "docker run --cgroupns private and a writable /sys/fs/cgroup (Docker 28: --security-opt writable-cgroups=true); or leave --cgroup out",
        ),
        fix(
            Place::Podman,
            "podman run --security-opt unmask=/sys/fs/cgroup --cgroupns private …; or leave --cgroup out",
        ),
        fix(
            Place::Kubernetes,
            "no pod gets a writable cgroup without privileges: leave --cgroup out; the pod's own limits still hold",
        ),
    ]
}

fn cgroup_read_only() -> Vec<Fix> {
    let mut fixes = cgroup_not_delegated();
    fixes.retain(|fix| matches!(fix.place, Place::Docker | Place::Podman | Place::Kubernetes));
    fixes.push(fix(
        Place::Any,
        "or leave --cgroup out: memory is then limited by RLIMIT_AS and tmpfs sizes, and the result says so",
    ));
    fixes
}

fn cgroup_controllers(host: &Host) -> Vec<Fix> {
    let dir = host.cgroup.dir.as_ref().map_or_else(|| "DIR".to_owned(), |dir| dir.path.display().to_string());
    vec![
        fix(
            Place::Any,
            format!(
                "echo '+memory +pids' > {dir}/cgroup.subtree_control (no process may live in {dir} itself)"
            ),
        ),
        fix(
            Place::Systemd,
            "Delegate=memory pids cpu, and DelegateSubgroup=supervisor, so that the unit's own directory holds no process",
        ),
        fix(
            Place::Debian,
            "where cgroup.controllers lacks memory: boot with systemd.unified_cgroup_hierarchy=1 cgroup_enable=memory",
        ),
    ]
}
