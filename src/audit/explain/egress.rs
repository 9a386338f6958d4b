//! What the egress profile says to a call about sockets.

use super::{Answer, Verdict};
use crate::egress::decide::Rules;
use crate::policy::Egress;
use crate::policy::egress::EgressMode;
use std::net::{Ipv4Addr, SocketAddr};

/// The answer; `address` as it was written: an address with a port, or something else.
pub(super) fn answer(egress: &Egress, reaches: bool, address: Option<&str>) -> Answer {
    let (verdict, what, errno) = match address.filter(|_| reaches) {
        _ if !reaches => {
            let what =
                "a socket reaches the listeners of the jail's own namespace and nothing else".to_owned();
            (Verdict::Allowed, what, None)
        }
        None => {
            (Verdict::Depends, "it depends on the address: write connect(93.184.216.34:443)".to_owned(), None)
        }
        Some(text) => match text.parse() {
            Ok(address) => connect(egress, address),
            Err(_) => (Verdict::Depends, format!("{text} is no address with a port"), None),
        },
    };
    Answer {
        layer: "net",
        verdict,
        what,
        rule: None,
        reason: None,
        place: Some("/egress".to_owned()),
        errno: errno.map(str::to_owned),
    }
}

/// Where the stub resolver is.
const STUB: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 53);

fn connect(egress: &Egress, to: SocketAddr) -> (Verdict, String, Option<&'static str>) {
    if (to.ip(), to.port()) == (STUB.into(), 53) {
        let what = "the stub resolver: the supervisor answers, UDP and TCP alike".to_owned();
        return (Verdict::Allowed, what, None);
    }
    if !egress.ports.contains(&to.port()) {
        let what =
            format!("nobody listens on port {} in the jail: no entry of the policy lists it", to.port());
        return (Verdict::Refused, what, Some("ECONNREFUSED"));
    }
    if let Err(why) = Rules::new(egress.clone()).address(to.ip()) {
        return (Verdict::Refused, format!("the supervisor resets it: {why}"), Some("ECONNRESET"));
    }
    if egress.mode == EgressMode::Public {
        let what = "the supervisor dials this very address, if it is none of the host's own".to_owned();
        return (Verdict::Allowed, what, None);
    }
    let names: Vec<String> = egress
        .allow
        .iter()
        .filter(|allowed| allowed.ports.contains(&to.port()))
        .map(|allowed| allowed.name.to_string())
        .collect();
    let what = format!(
        "relayed if the run looked up one of these names and it had this address, else reset: {}",
        names.join(", ")
    );
    (Verdict::Depends, what, None)
}
