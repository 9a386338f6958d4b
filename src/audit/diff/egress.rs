//! Where connections may go, compared: names and ports one by one, bounds, and what holds a name to its address.

use super::terms::{change, keyed, more};
use super::{Change, Direction};
use crate::audit::units::{bytes, millis};
use crate::policy::egress::{EgressMode, Network, Pattern, Sni};
use crate::policy::{Egress, Policy};
use std::collections::BTreeMap;
use std::fmt;

const AREA: &str = "network";

/// All differences of two `egress` parts; of one that comes or goes the mode says it, and its entries follow.
pub(super) fn compare(old: &Policy, new: &Policy) -> Vec<Change> {
    let mut changes = reached(old.egress(), new.egress());
    let (Some(was), Some(is)) = (old.egress(), new.egress()) else { return changes };
    changes.extend(held(was, is));
    changes.extend(bounds(was, is));
    let offline = |policy: &Policy| policy.file().egress.as_ref().map(|egress| egress.offline_filter.clone());
    let others = [
        (
            "resolvers",
            "/egress/dns/servers",
            format!("{:?}", was.dns_servers),
            format!("{:?}", is.dns_servers),
        ),
        ("certificates", "/egress/ca_bundle", format!("{:?}", was.ca_bundle), format!("{:?}", is.ca_bundle)),
        (
            "filter of runs without a network",
            "/egress/offline_filter",
            offline(old).unwrap_or_default(),
            offline(new).unwrap_or_default(),
        ),
    ];
    // Of another one nobody can say here whom it trusts.
    changes.extend(
        others
            .into_iter()
            .filter(|(_, _, was, is)| was != is)
            .map(|(subject, pointer, was, is)| change(Direction::Wider, AREA, subject, &was, &is, pointer)),
    );
    changes
}

/// One thing that can be reached: a name, or where there is none every public address, and a port.
struct Reach<'a> {
    name: Option<&'a Pattern>,
    port: u16,
}

impl Reach<'_> {
    /// Whether all of it can be reached under another policy too.
    fn is_within(&self, egress: &Egress) -> bool {
        match (egress.mode, self.name) {
            (EgressMode::Public, _) => egress.ports.contains(&self.port),
            (EgressMode::Names, None) => false,
            (EgressMode::Names, Some(name)) => egress.allow.iter().any(|allowed| {
                let covered = match name {
                    Pattern::Exact(name) => allowed.name.covers(name),
                    Pattern::Wildcard(_) => allowed.name == *name,
                };
                covered && allowed.ports.contains(&self.port)
            }),
        }
    }
}

impl fmt::Display for Reach<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => write!(f, "{name}:{}", self.port),
            None => write!(f, "every public address, port {}", self.port),
        }
    }
}

fn reach(egress: Option<&Egress>) -> Vec<Reach<'_>> {
    let Some(egress) = egress else { return Vec::new() };
    match egress.mode {
        EgressMode::Public => egress.ports.iter().map(|port| Reach { name: None, port: *port }).collect(),
        EgressMode::Names => egress
            .allow
            .iter()
            .flat_map(|allowed| {
                allowed.ports.iter().map(|port| Reach { name: Some(&allowed.name), port: *port })
            })
            .collect(),
    }
}

/// What can be reached now and could not before, and the other way round.
fn reached(old: Option<&Egress>, new: Option<&Egress>) -> Vec<Change> {
    const THERE: &str = "can be reached";
    const GONE: &str = "not there";
    let outside = |list: Option<&Egress>, other: Option<&Egress>| -> Vec<String> {
        let all = reach(list).into_iter();
        let mut names: Vec<String> = all
            .filter(|reach| !other.is_some_and(|other| reach.is_within(other)))
            .map(|reach| reach.to_string())
            .collect();
        names.sort();
        names.dedup();
        names
    };
    let wider = outside(new, old).into_iter();
    let narrower = outside(old, new).into_iter();
    wider
        .map(|name| change(Direction::Wider, AREA, &name, GONE, THERE, "/egress"))
        .chain(narrower.map(|name| change(Direction::Narrower, AREA, &name, THERE, GONE, "/egress")))
        .collect()
}

/// Networks that count as inside: more of them is narrower.
fn denied(was: &Egress, is: &Egress) -> Vec<Change> {
    const HELD: &str = "counts as inside";
    const FREE: &str = "not there";
    let missing = |of: &Egress, other: &Egress| -> Vec<String> {
        let held = |network: &Network| other.deny.iter().any(|denied| network.is_within(&denied.network));
        let left = of.deny.iter().filter(|denied| !held(&denied.network));
        left.map(|denied| denied.network.to_string()).collect()
    };
    let gone = missing(was, is).into_iter();
    let come = missing(is, was).into_iter();
    gone.map(|network| change(Direction::Wider, AREA, &network, HELD, FREE, "/egress/deny"))
        .chain(come.map(|network| change(Direction::Narrower, AREA, &network, FREE, HELD, "/egress/deny")))
        .collect()
}

fn held(was: &Egress, is: &Egress) -> Vec<Change> {
    let mut changes = Vec::new();
    let rank = |sni| match sni {
        Sni::Require => 0,
        Sni::Log => 1,
        Sni::Off => 2,
    };
    if was.sni != is.sni {
        let direction = more(rank(was.sni), rank(is.sni));
        let (was, is) = (format!("{:?}", was.sni).to_lowercase(), format!("{:?}", is.sni).to_lowercase());
        changes.push(change(direction, AREA, "the server name of TLS", &was, &is, "/egress/sni"));
    }
    let ports = |egress: &Egress| -> BTreeMap<String, String> {
        egress
            .sni_ports
            .iter()
            .map(|port| (format!("server names on port {port}"), "looked at".to_owned()))
            .collect()
    };
    // What holds back is wider where it goes: the sides are exchanged.
    changes.extend(keyed(AREA, "/egress/sni_ports", &ports(is), &ports(was)).into_iter().map(
        |mut change| {
            std::mem::swap(&mut change.old, &mut change.new);
            change
        },
    ));
    changes.extend(denied(was, is));
    changes
}

fn bounds(was: &Egress, is: &Egress) -> Vec<Change> {
    type Say = fn(u64) -> String;
    let count: Say = |n| n.to_string();
    let rows: [(&str, u64, u64, Say); 7] = [
        ("max_connections", was.max_connections.value, is.max_connections.value, count),
        ("max_connections_total", was.max_connections_total.value, is.max_connections_total.value, count),
        ("max_bytes", was.max_bytes.value, is.max_bytes.value, bytes),
        ("connect_timeout", was.connect_timeout_ms.value, is.connect_timeout_ms.value, millis),
        ("idle_timeout", was.idle_timeout_ms.value, is.idle_timeout_ms.value, millis),
        ("dns/timeout", was.dns_timeout_ms.value, is.dns_timeout_ms.value, millis),
        ("dns/max_lookups", was.max_lookups.value, is.max_lookups.value, count),
    ];
    rows.into_iter()
        .filter(|(_, was, is, _)| was != is)
        .map(|(name, was, is, say)| {
            change(more(was, is), AREA, name, &say(was), &say(is), &format!("/egress/{name}"))
        })
        .collect()
}
