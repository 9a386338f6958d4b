//! What this host can do, probed once into a value.
//!
//! [`Host`] is plain data: a test makes one up by changing a fact of [`Host::capable`]. [`Host::quick`] asks by a few
//! harmless syscalls and is what a run pays for; [`Host::probe`] also reads files and is for telling why something
//! failed. What can only be known by doing is in [`probes`]. [`diagnose()`] turns a failed step into one named cause.

pub mod cause;
mod cgroup;
pub mod checkup;
mod diagnose;
mod files;
mod fix;
pub mod probes;
mod words;

pub use cause::{Cause, Diagnosis, Fix, Place};
pub use cgroup::{Cgroup, CgroupDir};
pub use diagnose::{diagnose, diagnose_layer};

use crate::sys;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// First and count of the outer uids that the shipped policies give to runs which root starts.
pub const OUTER_IDS: (u32, u32) = (1_879_048_192, 65_536);

/// Facts about the kernel, this process and what surrounds it. `None` means unknown: the file is not there, or was not
/// asked for (see [`Host::quick`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Host {
    /// The running kernel.
    pub kernel: Kernel,
    /// The machine as `uname -m` says it.
    pub arch: String,
    /// Real and effective ids.
    pub ids: Ids,
    /// `AT_SECURE`: started setuid, setgid or with file capabilities.
    pub at_secure: bool,
    /// Capability sets of this process.
    pub capabilities: Capabilities,
    /// `no_new_privs` is set already.
    pub no_new_privs: bool,
    /// 2 where a seccomp filter already confines this process, 0 where none does.
    pub seccomp_mode: u8,
    /// Seccomp, as the kernel offers it.
    pub seccomp: Seccomp,
    /// Landlock, or why there is none.
    pub landlock: Landlock,
    /// `/` is the root of a mount; false in a chroot.
    pub root_is_mount: Option<bool>,
    /// The active security modules, `/sys/kernel/security/lsm`.
    pub lsm: Option<Vec<String>>,
    /// `/proc/sys/user/max_user_namespaces` of this user namespace.
    pub max_user_namespaces: Option<u64>,
    /// Debian's switch: 0 refuses user namespaces to ordinary users.
    pub unprivileged_userns_clone: Option<u64>,
    /// Ubuntu's switch: not 0 takes the capabilities away in an ordinary user's namespace.
    pub apparmor_restrict_unprivileged_userns: Option<u64>,
    /// `/proc/self/attr/current`: the `AppArmor` profile or the `SELinux` context.
    pub lsm_label: Option<String>,
    /// Yama: 0 classic, 1 descendants only, 2 administrators only, 3 nobody.
    pub yama_ptrace_scope: Option<u64>,
    /// The uid map of this user namespace; empty when unknown.
    pub uid_map: Vec<IdRange>,
    /// The gid map of this user namespace; empty when unknown.
    pub gid_map: Vec<IdRange>,
    /// `/proc`.
    pub proc: Proc,
    /// Control groups.
    pub cgroup: Cgroup,
    /// What says that this is a container.
    pub container: Option<Container>,
    /// This program's own path.
    pub exe: Option<PathBuf>,
}

/// The running kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// As `uname -r` says it.
    pub release: String,
    /// First two numbers of the release.
    pub version: (u32, u32),
}

impl Kernel {
    /// Reads the version out of a release; 0.0 where there is none.
    pub fn of_release(release: &str) -> Self {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        Self { release: release.to_owned(), version }
    }
}

/// Real and effective user and group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Ids {
    /// Real user.
    pub uid: u32,
    /// Effective user.
    pub euid: u32,
    /// Real group.
    pub gid: u32,
    /// Effective group.
    pub egid: u32,
}

/// Capability sets, as bits in the kernel's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// In force.
    pub effective: u64,
    /// What an exec could still give.
    pub bounding: u64,
}

impl Capabilities {
    /// Whether a capability is in force.
    pub fn has(self, capability: caps::Capability) -> bool {
        self.effective & capability.bitmask() != 0
    }
}

/// What the kernel offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Seccomp {
    /// Filters can be asked for at all.
    pub filter: bool,
    /// Filters may hand calls to a supervisor.
    pub user_notif: bool,
    /// Bytes of a notification and of its response.
    pub notif_sizes: Option<(u16, u16)>,
}

/// Landlock, or why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Landlock {
    /// Usable, with this ABI.
    Abi(u32),
    /// `ENOSYS`: older than 5.13, not compiled in, or hidden by an outer seccomp filter.
    NotThere,
    /// `EOPNOTSUPP`: compiled in, but not in the boot's `lsm=` list.
    NotInLsm,
    /// Another errno: an outer seccomp filter refuses to answer.
    Refused(i32),
}

impl Landlock {
    /// The ABI, 0 where there is none.
    pub fn abi(self) -> u32 {
        if let Self::Abi(abi) = self { abi } else { 0 }
    }

    fn ask() -> Self {
        match sys::landlock_abi::abi() {
            Ok(abi) => Self::Abi(abi),
            Err(error) => match error.raw_os_error() {
                Some(libc::ENOSYS) | None => Self::NotThere,
                Some(libc::EOPNOTSUPP) => Self::NotInLsm,
                Some(errno) => Self::Refused(errno),
            },
        }
    }
}

/// One line of a uid or gid map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct IdRange {
    /// First id inside.
    pub inside: u32,
    /// First id in the parent namespace.
    pub outside: u32,
    /// How many.
    pub count: u32,
}

/// `/proc` as this process sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proc {
    /// It is there, and is a proc file system.
    pub mounted: bool,
    /// `/proc/sys` cannot be written: mounted read-only, as containers do.
    pub sys_read_only: bool,
    /// What is mounted over parts of it; the kernel then refuses a new proc mount in a user namespace.
    pub masked: Vec<PathBuf>,
}

/// What says that this is a container. A guess: for messages only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Container {
    /// Which family of instructions fits.
    pub engine: Place,
    /// What was seen.
    pub evidence: String,
}

impl Host {
    /// The facts that a dozen harmless syscalls give, without reading a file; the rest is `None`, empty or assumed good.
    pub fn quick() -> Self {
        let (release, arch) = sys::uname::release_and_machine();
        let set =
            |set| caps::read(None, set).map_or(0, |found| found.iter().map(caps::Capability::bitmask).sum());
        let sizes = sys::seccomp_probe::notif_sizes();
        Self {
            kernel: Kernel::of_release(&release),
            arch,
            ids: Ids {
                uid: nix::unistd::getuid().as_raw(),
                euid: nix::unistd::geteuid().as_raw(),
                gid: nix::unistd::getgid().as_raw(),
                egid: nix::unistd::getegid().as_raw(),
            },
            at_secure: sys::getauxval::at_secure(),
            capabilities: Capabilities {
                effective: set(caps::CapSet::Effective),
                bounding: set(caps::CapSet::Bounding),
            },
            no_new_privs: sys::prctl::no_new_privs().unwrap_or(false),
            seccomp_mode: sys::prctl_read::seccomp_mode(),
            seccomp: Seccomp {
                filter: sys::seccomp::action_available(sys::seccomp_probe::ERRNO).is_ok(),
                user_notif: sys::seccomp::action_available(sys::seccomp_probe::USER_NOTIF).is_ok(),
                notif_sizes: sizes.ok().map(|(notification, response, _)| (notification, response)),
            },
            landlock: Landlock::ask(),
            root_is_mount: sys::statx_root::root_is_mount(),
            lsm: None,
            max_user_namespaces: None,
            unprivileged_userns_clone: None,
            apparmor_restrict_unprivileged_userns: None,
            lsm_label: None,
            yama_ptrace_scope: None,
            uid_map: Vec::new(),
            gid_map: Vec::new(),
            proc: Proc { mounted: true, sys_read_only: false, masked: Vec::new() },
            cgroup: Cgroup::default(),
            container: None,
            exe: None,
        }
    }

    /// Every fact that can be had without doing anything, about `cgroup` too where one is given.
    pub fn probe(cgroup: Option<&Path>) -> Self {
        files::read(Self::quick(), Path::new("/"), cgroup)
    }

    /// A made-up host on which everything holds, for an ordinary user: tests change one fact of it.
    pub fn capable() -> Self {
        let whole = IdRange { inside: 0, outside: 0, count: u32::MAX };
        Self {
            kernel: Kernel::of_release("6.12.0"),
            arch: "x86_64".to_owned(),
            ids: Ids { uid: 1000, euid: 1000, gid: 1000, egid: 1000 },
            at_secure: false,
            capabilities: Capabilities { effective: 0, bounding: 0x1ff_ffff_ffff },
            no_new_privs: false,
            seccomp_mode: 0,
            seccomp: Seccomp { filter: true, user_notif: true, notif_sizes: Some((80, 24)) },
            landlock: Landlock::Abi(6),
            root_is_mount: Some(true),
            lsm: Some(["capability", "landlock", "yama", "apparmor"].map(str::to_owned).to_vec()),
            max_user_namespaces: Some(63_000),
            unprivileged_userns_clone: None,
            apparmor_restrict_unprivileged_userns: None,
            lsm_label: Some("unconfined".to_owned()),
            yama_ptrace_scope: Some(1),
            uid_map: vec![whole],
            gid_map: vec![whole],
            proc: Proc { mounted: true, sys_read_only: false, masked: Vec::new() },
            cgroup: Cgroup::default(),
            container: None,
            exe: Some(PathBuf::from("/usr/bin/skilljail")),
        }
    }

    /// Whether root here can change to the ids that the shipped policies give to runs ([`OUTER_IDS`]): in a container's user
    /// namespace they may not be mapped. True when the maps are unknown.
    pub fn has_outer_ids(&self) -> bool {
        let maps = |map: &[IdRange]| {
            let holds = |range: &IdRange| {
                let last = u64::from(range.inside) + u64::from(range.count);
                range.inside <= OUTER_IDS.0 && u64::from(OUTER_IDS.0) + u64::from(OUTER_IDS.1) <= last
            };
            map.is_empty() || map.iter().any(holds)
        };
        maps(&self.uid_map) && maps(&self.gid_map)
    }
}

#[cfg(test)]
mod tests {
    use super::{Host, IdRange, Kernel, OUTER_IDS};

    #[test]
    fn a_release_gives_its_first_two_numbers() {
        for (release, version) in [
            ("6.1.0-18-amd64", (6, 1)),
            ("5.15", (5, 15)),
            ("6.18.44-fc", (6, 18)),
            ("", (0, 0)),
            ("x", (0, 0)),
        ] {
            assert_eq!(Kernel::of_release(release).version, version, "{release}");
        }
    }

    #[test]
    fn quick_knows_this_process_and_probe_knows_more() {
        let (quick, full) = (Host::quick(), Host::probe(None));
        assert_eq!(quick.ids.uid, nix::unistd::getuid().as_raw());
        assert_ne!(quick.kernel.version, (0, 0));
        assert!(quick.uid_map.is_empty(), "quick reads no file");
        assert!(!full.uid_map.is_empty(), "probe reads /proc/self/uid_map");
        assert_eq!(full.kernel, quick.kernel);
        assert_eq!(full.exe, std::env::current_exe().ok());
    }

    #[test]
    fn only_a_map_that_holds_the_whole_range_serves_root() {
        let mut host = Host::capable();
        assert!(host.has_outer_ids());
        host.uid_map = vec![IdRange { inside: 0, outside: 1001, count: 1 }];
        assert!(!host.has_outer_ids());
        host.uid_map.push(IdRange { inside: 1, outside: 100_000, count: 65_536 });
        assert!(!host.has_outer_ids());
        host.uid_map.push(IdRange { inside: OUTER_IDS.0, outside: 200_000, count: OUTER_IDS.1 - 1 });
        assert!(!host.has_outer_ids(), "one is missing");
        host.uid_map.push(IdRange { inside: OUTER_IDS.0 - 5, outside: 200_000, count: OUTER_IDS.1 + 5 });
        assert!(host.has_outer_ids());
        host.gid_map = vec![IdRange { inside: 0, outside: 0, count: 1 }];
        assert!(!host.has_outer_ids());
    }

    #[test]
    fn the_range_is_that_of_the_shipped_policies() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
        for name in ["default", "strict", "tfrobot"] {
            let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
            let policy: serde_json::Value = serde_json::from_str(&text).unwrap();
            if let Some(range) = policy.get("outer_ids") {
                assert_eq!(
                    (range["first"].as_u64(), range["count"].as_u64()),
                    (Some(u64::from(OUTER_IDS.0)), Some(u64::from(OUTER_IDS.1))),
                    "{name}"
                );
            } else {
                assert_ne!(name, "default", "the default policy names its range");
            }
        }
    }
}
