//! The user namespace: who the payload is outside and inside, and that it dies with the supervisor.

#[cfg(feature = "lab")]
use super::without::{Wall, Without};
use super::{ApplyError, Layer, Step as _};
use crate::sys::{cred, prctl};
use nix::unistd;
use serde::Serialize;

/// uid and gid inside.
pub const INNER_ID: u32 = 1000;

/// Who the jail is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// uid and gid inside.
    pub inner: u32,
    /// Who that is outside.
    pub outer: Outer,
}

/// Who the jail is outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outer {
    /// The caller, who is not root.
    Caller,
    /// One uid, with an equal gid, of this range, held for this run alone.
    OneOf {
        /// The first.
        first: u32,
        /// How many.
        count: u32,
        /// Why this range.
        reason: String,
    },
}

/// Root never maps itself into a jail: it takes an id of the policy's range.
pub fn plan(euid: u32, range: &crate::policy::schema::OuterIds) -> Plan {
    let outer = if euid == 0 {
        Outer::OneOf { first: range.first, count: range.count, reason: range.reason.clone() }
    } else {
        Outer::Caller
    };
    Plan { inner: INNER_ID, outer }
}

/// The maps as they are written into `/proc/PID/`.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The line of uid_map.
    pub uid_map: String,
    /// The line of gid_map.
    pub gid_map: String,
    /// The supervisor is root: change credentials, drop supplementary groups.
    pub switch: bool,
}

/// The parent's part, between clone and "go": the maps, by the pid of a child that is not reaped yet, so that the
/// number cannot name another process.
pub fn write_maps(prepared: &Prepared, pid: i32) -> Result<(), ApplyError> {
    let write = |file: &str, text: &str| std::fs::write(format!("/proc/{pid}/{file}"), text);
    if !prepared.switch {
        // An unprivileged gid_map needs this first (user_namespaces(7)).
        write("setgroups", "deny").step(Layer::Idmap, "write /proc/PID/setgroups")?;
    }
    write("uid_map", &prepared.uid_map).step(Layer::Idmap, "write /proc/PID/uid_map")?;
    write("gid_map", &prepared.gid_map).step(Layer::Idmap, "write /proc/PID/gid_map")
}

/// The child's part, after "go". Answers whether nested user namespaces could be forbidden by sysctl.
pub(super) fn apply(
    prepared: &Prepared,
    #[cfg(feature = "lab")] without: Without,
) -> Result<bool, ApplyError> {
    #[cfg(feature = "lab")]
    let (session, nested) = (!without.has(Wall::IdmapSession), !without.has(Wall::IdmapNested));
    #[cfg(not(feature = "lab"))]
    let (session, nested) = (true, true);
    if session {
        // Its own session: no controlling terminal, and kill(0) from inside reaches no process group of the caller's.
        unistd::setsid().step(Layer::Idmap, "setsid")?;
    }
    // Not a wall of its own (the filter refuses nested namespaces): read-only in stock containers, so only reported.
    let no_nested = nested && std::fs::write("/proc/sys/user/max_user_namespaces", "0").is_ok();
    if prepared.switch {
        cred::setgroups_none().step(Layer::Idmap, "setgroups")?;
        cred::setresgid(INNER_ID).step(Layer::Idmap, "setresgid")?;
        cred::setresuid(INNER_ID).step(Layer::Idmap, "setresuid")?;
    }
    #[cfg(feature = "lab")]
    let inner = without.inner_id(INNER_ID);
    #[cfg(not(feature = "lab"))]
    let inner = INNER_ID;
    if unistd::getuid().as_raw() != inner || unistd::getgid().as_raw() != inner {
        return Err(ApplyError {
            layer: Layer::Idmap.name(),
            step: "getuid: the map is not in force",
            errno: libc::EPERM,
        });
    }
    // After the change of uid, which clears it.
    prctl::set_pdeathsig(libc::SIGKILL).step(Layer::Idmap, "prctl(PR_SET_PDEATHSIG)")?;
    unistd::chdir("/").step(Layer::Idmap, "chdir")?;
    let _previous = nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
    Ok(no_nested)
}
