//! The check-up: which of the steps that the default policy needs hold here, which only would be nice, and the one cause
//! where something is missing.

use super::cause::Diagnosis;
use super::probes::{self, Tried};
use super::{Host, Landlock, diagnose};
use serde::Serialize;
use std::path::Path;

/// The lowest Landlock ABI that the default policy runs with.
const LANDLOCK_FLOOR: u32 = 2;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It holds.
    Ok,
    /// It does not hold.
    Missing,
    /// A step before it failed.
    NotTried,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its stable name.
    pub name: &'static str,
    /// What is checked, for people.
    pub title: &'static str,
    /// Whether a run with the default policy needs it.
    pub needed: bool,
    /// How it ended.
    pub status: Status,
    /// What was found, or what its absence means.
    pub detail: String,
}

/// Everything that `doctor` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checkup {
    /// Version of this document.
    pub version: u32,
    /// Everything needed holds.
    pub ok: bool,
    /// In the order of a run's steps.
    pub checks: Vec<Check>,
    /// The one cause of what is missing and needed: that of the first step that failed.
    pub cause: Option<Diagnosis>,
    /// The facts.
    pub host: Host,
}

/// What the probes by doing answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Of [`probes::namespaces`], [`probes::landlock`] and [`probes::listener`].
    pub steps: Vec<Tried>,
    /// Of [`probes::cgroup`], where a directory was given.
    pub cgroup: Option<Tried>,
}

impl Attempts {
    /// Makes all attempts on this host.
    pub fn make(cgroup: Option<&Path>) -> Self {
        let mut steps = probes::namespaces();
        let userns = steps.iter().any(|tried| tried.step == "clone" && tried.errno == 0);
        steps.extend(probes::landlock());
        steps.extend(probes::listener(userns));
        Self { steps, cgroup: cgroup.map(probes::cgroup) }
    }

    /// The errno of a step: the first that is not 0 where it was made more than once; `None` when it was not tried.
    fn errno(&self, step: &str) -> Option<i32> {
        let of_step = self.steps.iter().filter(|tried| tried.step == step).map(|tried| tried.errno);
        of_step.reduce(|first, next| if first == 0 { next } else { first })
    }
}

impl Checkup {
    /// Asks, tries and judges.
    pub fn perform(cgroup: Option<&Path>) -> Self {
        Self::judge(Host::probe(cgroup), &Attempts::make(cgroup))
    }

    /// Judges facts and attempts, real or made up.
    pub fn judge(host: Host, attempts: &Attempts) -> Self {
        let mut sheet = Sheet { host: &host, attempts, checks: Vec::new(), cause: None };
        sheet.start();
        sheet.steps();
        sheet.landlock();
        sheet.listener();
        sheet.cgroup();
        sheet.niceties();
        let (checks, cause) = (sheet.checks, sheet.cause);
        let ok = checks.iter().all(|check| !check.needed || check.status == Status::Ok);
        Self { version: 1, ok, checks, cause, host }
    }
}

struct Sheet<'a> {
    host: &'a Host,
    attempts: &'a Attempts,
    checks: Vec<Check>,
    cause: Option<Diagnosis>,
}

impl Sheet<'_> {
    fn add(&mut self, name: &'static str, title: &'static str, needed: bool, status: Status, detail: String) {
        self.checks.push(Check { name, title, needed, status, detail });
    }

    /// A needed check that does not hold: the first gives the cause.
    fn missing(&mut self, name: &'static str, title: &'static str, step: &str, errno: i32) {
        let diagnosis = diagnose(step, errno, self.host);
        self.add(name, title, true, Status::Missing, diagnosis.what.clone());
        self.cause.get_or_insert(diagnosis);
    }

    fn start(&mut self) {
        let (host, title) = (self.host, "how it was started");
        let ids = host.ids;
        let is_root = ids.uid == 0;
        let lacks_setuid = is_root && !host.capabilities.has(caps::Capability::CAP_SETUID);
        let setuid = host.at_secure || ids.uid != ids.euid || ids.gid != ids.egid;
        if setuid || lacks_setuid || (is_root && !host.has_outer_ids()) {
            return self.missing("start", title, "start", 0);
        }
        let detail = if is_root { "root with CAP_SETUID".to_owned() } else { format!("uid {}", ids.uid) };
        self.add("start", title, true, Status::Ok, detail);
    }

    /// The steps in a user namespace, each by its errno.
    fn steps(&mut self) {
        const STEPS: [(&str, &str, &[&str], &str); 5] = [
            ("namespaces", "namespaces", &["clone"], "user, mount, net, pid, ipc, uts, cgroup made at once"),
            ("id_maps", "id maps", &["uid_map", "gid_map", "setgroups", "setresuid"], "written"),
            ("network", "capabilities inside: net", &["net"], "lo set up"),
            ("mounts", "capabilities inside: mount", &["mount"], "a tmpfs mounted"),
            ("pivot_root", "pivot_root", &["pivot_root"], "old root left and unmounted"),
        ];
        for (name, title, steps, found) in STEPS {
            let tried = |step: &&'static str| self.attempts.errno(step).map(|errno| (*step, errno));
            let failed = steps.iter().filter_map(tried).find(|(_, errno)| *errno != 0);
            // The first step is always made, the others as root or as an ordinary user only.
            match (failed, steps.first().and_then(tried)) {
                (Some((step, errno)), _) => self.missing(name, title, step, errno),
                (None, Some(_)) => self.add(name, title, true, Status::Ok, found.to_owned()),
                // Something that only is good to have ended the child before it came here: a filter that kills.
                (None, None) if self.cause.is_none() => self.missing(name, title, steps[0], libc::EPERM),
                (None, None) => self.not_tried(name, title, true),
            }
        }
    }

    fn not_tried(&mut self, name: &'static str, title: &'static str, needed: bool) {
        self.add(name, title, needed, Status::NotTried, "a step before it failed".to_owned());
    }

    fn landlock(&mut self) {
        let (name, title) = ("landlock", "Landlock");
        let restricted = self.attempts.errno("landlock").or_else(|| self.attempts.errno("fork"));
        match (self.host.landlock, restricted) {
            (Landlock::NotThere, _) => self.missing(name, title, "landlock", libc::ENOSYS),
            (Landlock::NotInLsm, _) => self.missing(name, title, "landlock", libc::EOPNOTSUPP),
            (Landlock::Refused(errno), _) => self.missing(name, title, "landlock", errno),
            // The kernel refused nothing: the policy does.
            (Landlock::Abi(abi), _) if abi < LANDLOCK_FLOOR => self.missing(name, title, "landlock", 0),
            (Landlock::Abi(abi), Some(0)) => {
                self.add(name, title, true, Status::Ok, format!("ABI {abi}, a ruleset enforced"));
            }
            (_, errno) => self.missing(name, title, "landlock", errno.unwrap_or(libc::EIO)),
        }
    }

    fn listener(&mut self) {
        let seccomp = ("seccomp", "seccomp with a listener");
        let taken = ("pidfd_getfd", "the listener taken over");
        match self.attempts.errno("seccomp") {
            Some(0) => {
                let sizes = self.host.seccomp.notif_sizes;
                let sizes = sizes
                    .map_or_else(String::new, |(n, r)| format!(", notification {n} and response {r} bytes"));
                self.add(seccomp.0, seccomp.1, true, Status::Ok, format!("a filter installed{sizes}"));
            }
            Some(errno) => self.missing(seccomp.0, seccomp.1, "seccomp", errno),
            None => {
                self.missing(seccomp.0, seccomp.1, "fork", self.attempts.errno("fork").unwrap_or(libc::EIO));
            }
        }
        match self.attempts.errno("pidfd_getfd") {
            Some(0) => self.add(taken.0, taken.1, true, Status::Ok, "by pidfd_getfd".to_owned()),
            Some(errno) => self.missing(taken.0, taken.1, "pidfd_getfd", errno),
            None => self.not_tried(taken.0, taken.1, true),
        }
    }

    /// Needed only when a directory was named: then a run would be told to use it.
    fn cgroup(&mut self) {
        let (name, title) = ("cgroup", "delegated cgroup v2");
        match self.attempts.cgroup {
            Some(Tried { errno: 0, .. }) => {
                self.add(
                    name,
                    title,
                    true,
                    Status::Ok,
                    "a leaf made, a process moved in, removed".to_owned(),
                );
            }
            Some(Tried { step, errno }) => self.missing(name, title, step, errno),
            None => {
                let detail = "no --cgroup DIR: memory is limited by RLIMIT_AS and tmpfs sizes".to_owned();
                self.add(name, title, false, Status::NotTried, detail);
            }
        }
    }

    /// What a run does without, and says so in its result.
    fn niceties(&mut self) {
        const NICETIES: [(&str, &str, &str, &str, &str); 3] = [
            (
                "nesting_limit",
                "limit on nested namespaces",
                "max_user_namespaces",
                "max_user_namespaces set to 0 inside",
                "/proc/sys cannot be written; the filter alone refuses nested namespaces",
            ),
            (
                "keyring",
                "keyring of its own",
                "keyctl",
                "joined",
                "keyctl is refused; the filter refuses keyrings inside",
            ),
            (
                "proc_mount",
                "/proc in a user namespace",
                "mount_proc",
                "mounted; a jail has none all the same",
                "refused, for the outer /proc is masked in part; a jail needs none",
            ),
        ];
        for (name, title, step, found, lacking) in NICETIES {
            match self.attempts.errno(step) {
                Some(0) => self.add(name, title, false, Status::Ok, found.to_owned()),
                Some(_) => self.add(name, title, false, Status::Missing, lacking.to_owned()),
                None => self.not_tried(name, title, false),
            }
        }
    }
}
