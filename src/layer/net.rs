//! The network, UTS and IPC namespaces. They are new and empty by clone; what is left is the host's name in them.

#[cfg(feature = "lab")]
use super::without::{Wall, Without};
use super::{ApplyError, Layer, Step as _};
use crate::policy::schema::{Network, NetworkMode};
use serde::Serialize;

/// What the jail's namespaces hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The mode.
    pub mode: NetworkMode,
    /// Why.
    pub reason: String,
    /// The host name inside.
    pub hostname: String,
}

/// The plan of a policy.
pub fn plan(network: &Network) -> Plan {
    Plan { mode: network.mode, reason: network.reason.clone(), hostname: "skilljail".to_owned() }
}

/// Sets the host name; the network namespace stays as clone made it: one loopback interface, down.
pub(super) fn apply(plan: &Plan, #[cfg(feature = "lab")] without: Without) -> Result<(), ApplyError> {
    let NetworkMode::None = plan.mode;
    // Without a namespace of its own the name would be somebody else's.
    #[cfg(feature = "lab")]
    if without.has(Wall::NetUts) {
        return Ok(());
    }
    nix::unistd::sethostname(&plan.hostname).step(Layer::Net, "sethostname")
}
