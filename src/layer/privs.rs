//! Privileges: no capability in any set, no_new_privs, secure bits locked, a keyring of its own.

#[cfg(feature = "lab")]
use super::without::{Wall, Without};
use super::{ApplyError, Layer, Step as _};
use crate::sys::{keyctl, prctl};
use serde::Serialize;
use std::io;

/// What the process keeps: nothing. The plan exists to be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Capabilities in any set.
    pub capabilities: Vec<String>,
    /// `no_new_privs`.
    pub no_new_privs: bool,
}

/// The plan, which is the same for every policy.
pub fn plan() -> Plan {
    Plan { capabilities: Vec::new(), no_new_privs: true }
}

/// Drops everything, and reads back from the kernel that it is gone. Answers whether the session keyring is new.
pub(super) fn apply(_plan: &Plan, #[cfg(feature = "lab")] without: Without) -> Result<bool, ApplyError> {
    #[cfg(feature = "lab")]
    let keyring = !without.has(Wall::PrivsKeyring);
    #[cfg(not(feature = "lab"))]
    let keyring = true;
    // Stock containers refuse keyctl; the filter refuses it to the payload in any case, so this is only reported.
    let own_keyring = keyring && keyctl::join_anonymous_session().is_ok();
    #[cfg(feature = "lab")]
    if without.has(Wall::PrivsCapabilities) || without.has(Wall::PrivsNoNewPrivs) {
        return apply_without(without).map(|()| own_keyring);
    }
    bind()?;
    drop_capabilities()?;
    let left = prctl::capabilities().step(Layer::Privs, "capget")?;
    let bound = prctl::no_new_privs().step(Layer::Privs, "prctl(PR_GET_NO_NEW_PRIVS)")?;
    if left != (0, 0) || !bound {
        return Err(io::Error::from_raw_os_error(libc::EPERM))
            .step(Layer::Privs, "read back: a privilege is left");
    }
    Ok(own_keyring)
}

#[cfg(feature = "lab")]
fn apply_without(without: Without) -> Result<(), ApplyError> {
    if !without.has(Wall::PrivsNoNewPrivs) {
        bind()?;
    }
    if without.has(Wall::PrivsCapabilities) {
        crate::sys::ambient::keep_all().step(Layer::Privs, "prctl(PR_CAP_AMBIENT_RAISE)")
    } else {
        drop_capabilities()
    }
}

fn bind() -> Result<(), ApplyError> {
    prctl::set_no_new_privs().step(Layer::Privs, "prctl(PR_SET_NO_NEW_PRIVS)")
}

fn drop_capabilities() -> Result<(), ApplyError> {
    prctl::clear_ambient().step(Layer::Privs, "prctl(PR_CAP_AMBIENT_CLEAR_ALL)")?;
    prctl::lock_securebits().step(Layer::Privs, "prctl(PR_SET_SECUREBITS)")?;
    for capability in 0..64 {
        match prctl::drop_bounding(capability) {
            Ok(()) => {}
            // The kernel's last capability is behind us: not when it knows this one, and something else says so.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && !prctl::is_capability(capability) => {
                break;
            }
            Err(error) => return Err(error).step(Layer::Privs, "prctl(PR_CAPBSET_DROP)"),
        }
    }
    prctl::clear_capabilities().step(Layer::Privs, "capset")
}
