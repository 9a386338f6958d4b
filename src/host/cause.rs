//! Why something cannot be done here: one name, its evidence, and what to do about it.

use serde::Serialize;
use std::fmt;

/// One cause. The names are stable: they are the ids in the result document and in `doctor --format json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The kernel was built without user namespaces.
    UsernsNotBuilt,
    /// Debian's `kernel.unprivileged_userns_clone` is 0.
    UsernsSwitchedOff,
    /// `user.max_user_namespaces` is 0 or used up.
    UsernsLimit,
    /// Namespaces are nested 32 deep.
    UsernsNesting,
    /// A `max_*_namespaces` other than the user namespaces' is 0 or used up.
    NamespaceLimit,
    /// `AppArmor` takes the capabilities away in an ordinary user's namespace (Ubuntu 23.10 and later).
    ApparmorUserns,
    /// The `AppArmor` profile of this process refuses the step.
    ApparmorProfile,
    /// `SELinux`, or another security module, refuses the step.
    LsmDenied,
    /// A seccomp filter that was there before us refuses the step.
    OuterSeccomp,
    /// This process lives in a chroot; the kernel makes no user namespace there.
    Chroot,
    /// `/` is the initial RAM file system, which cannot be pivoted away from.
    RootNotPivotable,
    /// `/proc` is not there: the id maps cannot be written.
    ProcMissing,
    /// Started setuid, setgid or with file capabilities.
    SetuidStart,
    /// Root without `CAP_SETUID`: it cannot become an ordinary user.
    RootWithoutSetuid,
    /// Root in a user namespace that does not map the ids to which a run should change.
    NoSpareUid,
    /// This process's own uid has no name in its user namespace.
    UidUnmapped,
    /// The kernel is older than the step.
    KernelTooOld,
    /// Landlock is not in the boot's `lsm=` list.
    LandlockNotInLsm,
    /// The kernel was built without Landlock.
    LandlockNotBuilt,
    /// Sixteen Landlock rulesets are stacked already.
    LandlockStackFull,
    /// The kernel was built without seccomp filters.
    SeccompNotBuilt,
    /// Another supervisor already listens to this process's filters.
    ListenerTaken,
    /// Yama lets nobody trace.
    YamaForbids,
    /// `RLIMIT_NPROC`, a pids limit, or memory for processes is used up.
    ProcessLimit,
    /// Descriptors are used up.
    DescriptorLimit,
    /// Kernel memory is used up.
    OutOfMemory,
    /// The directory is not on a version 2 hierarchy.
    CgroupNotV2,
    /// The hierarchy is mounted read-only.
    CgroupReadOnly,
    /// The directory belongs to somebody else, or a common ancestor does.
    CgroupNotDelegated,
    /// `memory` or `pids` is not enabled for the directory's children.
    CgroupControllers,
    /// None of the known ones.
    Unknown,
}

/// Where a fix applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Anywhere.
    Any,
    /// A Debian or Ubuntu host.
    Debian,
    /// A systemd unit.
    Systemd,
    /// Docker.
    Docker,
    /// Podman.
    Podman,
    /// Kubernetes.
    Kubernetes,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "anywhere",
            Self::Debian => "Debian, Ubuntu",
            Self::Systemd => "systemd unit",
            Self::Docker => "Docker",
            Self::Podman => "Podman",
            Self::Kubernetes => "Kubernetes",
        })
    }
}

/// What to do in one place; may have several lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fix {
    /// Where.
    pub place: Place,
    /// What.
    pub text: String,
}

/// A failed step, explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// The one cause.
    pub cause: Cause,
    /// The step that failed, such as `clone` or `uid_map`.
    pub step: String,
    /// What the kernel answered; 0 where nothing was called.
    pub errno: i32,
    /// The cause in one sentence.
    pub what: String,
    /// The facts that speak for it.
    pub evidence: Vec<String>,
    /// What to do, the place that fits this host first.
    pub fixes: Vec<Fix>,
}

impl Diagnosis {
    /// The stable id of the cause.
    pub fn id(&self) -> String {
        // An enum without fields always serialises to a string.
        serde_json::to_value(self.cause).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// One line for a `hint:`: the first fix's first line, and where the rest stands.
    pub fn hint(&self) -> String {
        let first = self.fixes.first().and_then(|fix| fix.text.lines().next()).unwrap_or_default();
        if first.is_empty() {
            return "`skilljail doctor` tries each step and tells what is missing".to_owned();
        }
        format!("{}; `skilljail doctor` has the whole fix", first.trim_end_matches(':'))
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if !self.evidence.is_empty() {
            write!(f, " ({})", self.evidence.join("; "))?;
        }
        Ok(())
    }
}
