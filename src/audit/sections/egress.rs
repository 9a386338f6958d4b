//! Where connections may go, as tables.

use super::{row, table};
use crate::audit::sheet::Table;
use crate::audit::units::{bytes, millis};
use crate::policy::Egress;
use crate::policy::egress::EgressMode;
use crate::policy::schema::Sni;

/// The tables of the net section.
pub(super) fn tables(egress: &Egress) -> Vec<Table> {
    let ports = |ports: &[u16]| ports.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let reach = match egress.mode {
        EgressMode::Names => egress
            .allow
            .iter()
            .map(|allowed| vec![allowed.name.to_string(), ports(&allowed.ports), allowed.reason.clone()])
            .collect(),
        EgressMode::Public => {
            vec![row(&["every public address", &ports(&egress.ports), "the policy's mode is public"])]
        }
    };
    let mut tables = vec![table("what can be reached", &["name", "ports", "why"], reach)];
    if !egress.deny.is_empty() {
        let rows = egress.deny.iter().map(|d| vec![d.network.to_string(), d.reason.clone()]).collect();
        tables.push(table("what counts as inside beside every special address", &["network", "why"], rows));
    }
    let sni = format!("{:?} on {}", egress.sni, ports(&egress.sni_ports)).to_lowercase();
    let shared = match egress.sni {
        Sni::Require => "a shared address does not open its neighbours on these ports",
        Sni::Log | Sni::Off => "a shared address opens its neighbours",
    };
    let servers = egress.dns_servers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let servers = if servers.is_empty() { "the host's own".to_owned() } else { servers };
    let bundle = egress
        .ca_bundle
        .as_ref()
        .map_or_else(|| "the host's own".to_owned(), |path| path.display().to_string());
    let bound = |name: &str, value: String, why: &str| vec![name.to_owned(), value, why.to_owned()];
    let count = |bound: &crate::policy::Bound| bound.value.to_string();
    tables.push(table(
        "how",
        &["what", "value", "why"],
        vec![
            bound("server name of TLS", sni, shared),
            bound("resolvers", servers, "asked by the supervisor, and for names that may be reached alone; the script asks 127.0.0.53"),
            bound("certificates", bundle, "what the script trusts"),
            bound("connections at once", count(&egress.max_connections), &egress.max_connections.reason),
            bound("connections", count(&egress.max_connections_total), &egress.max_connections_total.reason),
            bound("bytes", bytes(egress.max_bytes.value), &egress.max_bytes.reason),
            bound(
                "time to connect",
                millis(egress.connect_timeout_ms.value),
                &egress.connect_timeout_ms.reason,
            ),
            bound(
                "time without a byte",
                millis(egress.idle_timeout_ms.value),
                &egress.idle_timeout_ms.reason,
            ),
            bound("time of a lookup", millis(egress.dns_timeout_ms.value), &egress.dns_timeout_ms.reason),
            bound("lookups", count(&egress.max_lookups), &egress.max_lookups.reason),
        ],
    ));
    tables
}
