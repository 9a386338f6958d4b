//! Where connections may go, compared: names and ports one by one, bounds, and what holds a name to its address.

use super::terms::{change, keyed, more};
use super::{Change, Direction};
use crate::audit::units::{bytes, millis};
use crate::policy::egress::{EgressMode, Sni};
use crate::policy::{Egress, Policy};
use std::collections::BTreeMap;

const AREA: &str = "network";

/// All differences of two `egress` parts; of one that comes or goes the mode says it, and its entries follow.
pub(super) fn compare(old: &Policy, new: &Policy) -> Vec<Change> {
    let mut changes = keyed(AREA, "/egress", &reach(old.egress()), &reach(new.egress()));
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

/// What can be reached, each by its name.
fn reach(egress: Option<&Egress>) -> BTreeMap<String, String> {
    let Some(egress) = egress else { return BTreeMap::new() };
    let there = || "can be reached".to_owned();
    match egress.mode {
        EgressMode::Public => {
            egress.ports.iter().map(|port| (format!("every public address, port {port}"), there())).collect()
        }
        EgressMode::Names => {
            let each = |allowed: &crate::policy::egress::Allowed| {
                allowed.ports.iter().map(|port| format!("{}:{port}", allowed.name)).collect::<Vec<_>>()
            };
            egress.allow.iter().flat_map(each).map(|name| (name, there())).collect()
        }
    }
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
    let denied = |egress: &Egress| -> BTreeMap<String, String> {
        egress.deny.iter().map(|denied| (denied.network.to_string(), "counts as inside".to_owned())).collect()
    };
    // What holds back is wider where it goes: the sides are exchanged.
    for (pointer, is, was) in
        [("/egress/sni_ports", ports(was), ports(is)), ("/egress/deny", denied(was), denied(is))]
    {
        changes.extend(keyed(AREA, pointer, &was, &is).into_iter().map(|mut change| {
            std::mem::swap(&mut change.old, &mut change.new);
            change
        }));
    }
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
