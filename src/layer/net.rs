//! The network, UTS and IPC namespaces. They are new and empty by clone; what is left is the host's name in them, and with egress
//! the sockets that stand for the outside.

#[cfg(feature = "lab")]
use super::without::{Wall, Without};
use super::{ApplyError, Layer, Link, NetFacts, Step as _};
use crate::policy::schema::{Network, NetworkMode};
use crate::policy::{Egress, egress::DNS_PORT};
use crate::sys::{netdevice, packet, rtnetlink::Routes};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, listen, setsockopt, socket, sockopt,
};
use serde::Serialize;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

/// Where the jail's resolver answers.
pub const STUB: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 53);

/// What the jail's namespaces hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The mode.
    pub mode: NetworkMode,
    /// Why.
    pub reason: String,
    /// The host name inside.
    pub hostname: String,
    /// Where connections may go; none with mode `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress: Option<Egress>,
}

/// The plan of a policy.
pub fn plan(network: &Network, egress: Option<&Egress>) -> Plan {
    Plan {
        mode: network.mode,
        reason: network.reason.clone(),
        hostname: "skilljail".to_owned(),
        egress: egress.cloned(),
    }
}

/// Sets the host name. Without egress the network namespace stays as clone made it: one loopback interface, down.
pub(super) fn apply(
    plan: &Plan,
    link: &mut dyn Link,
    #[cfg(feature = "lab")] without: Without,
) -> Result<NetFacts, ApplyError> {
    #[cfg(feature = "lab")]
    let own = !without.has(Wall::NetNet);
    #[cfg(not(feature = "lab"))]
    let own = true;
    // In the host's namespace (a laboratory's) nothing is routed and nothing listens.
    let facts = match plan.egress.as_ref().filter(|_| own) {
        Some(egress) => open(egress, link)?,
        None => NetFacts::default(),
    };
    // Without a namespace of its own the name would be somebody else's.
    #[cfg(feature = "lab")]
    if without.has(Wall::NetUts) {
        return Ok(facts);
    }
    nix::unistd::sethostname(&plan.hostname).step(Layer::Net, "sethostname").map(|()| facts)
}

/// Makes every address the namespace's own and opens what answers on them. The sockets go to the supervisor: this process,
/// and so the payload, keeps none.
fn open(egress: &Egress, link: &mut dyn Link) -> Result<NetFacts, ApplyError> {
    netdevice::loopback_up().step(Layer::Net, "ioctl(SIOCSIFFLAGS) lo up")?;
    let routes = Routes::open().step(Layer::Net, "socket(AF_NETLINK)")?;
    routes.make_all_local(false).step(Layer::Net, "rtnetlink: local 0.0.0.0/0 dev lo")?;
    // A host without IPv6, or one that turns it off in new namespaces: then the jail has none, and nothing of it is answered.
    let v6 = routes.make_all_local(true).is_ok();
    drop(routes);
    let stub = SocketAddr::from((STUB, DNS_PORT));
    let mut sockets = vec![bound(SockType::Datagram, stub)?, listener(stub)?];
    for port in &egress.ports {
        sockets.push(listener((Ipv4Addr::UNSPECIFIED, *port).into())?);
        if v6 {
            sockets.push(listener((Ipv6Addr::UNSPECIFIED, *port).into())?);
        }
    }
    // Only for the log: what it would see the kernel refuses.
    let tap = packet::tap().ok();
    let facts = NetFacts { v6, tap: tap.is_some() };
    sockets.extend(tap);
    let numbers: Vec<i32> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
    link.hand_over(&numbers, facts).step(Layer::Net, "hand over the sockets").map(|()| facts)
}

fn bound(kind: SockType, address: SocketAddr) -> Result<OwnedFd, ApplyError> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let fd = socket(family, kind, SockFlag::SOCK_CLOEXEC, None).step(Layer::Net, "socket")?;
    if address.is_ipv6() {
        setsockopt(&fd, sockopt::Ipv6V6Only, &true).step(Layer::Net, "setsockopt(IPV6_V6ONLY)")?;
    }
    bind(fd.as_raw_fd(), &SockaddrStorage::from(address)).step(Layer::Net, "bind")?;
    Ok(fd)
}

fn listener(address: SocketAddr) -> Result<OwnedFd, ApplyError> {
    let fd = bound(SockType::Stream, address)?;
    listen(&fd, Backlog::MAXCONN).step(Layer::Net, "listen")?;
    Ok(fd)
}
