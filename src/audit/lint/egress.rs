//! What is odd about where connections may go.

use super::Severity::{Note, Warning};
use super::{Find, Hit, Rule, Subject};
use crate::policy::Egress;
use crate::policy::egress::{EgressMode, Pattern, Sni};

fn hits(s: &Subject<'_>, pointer: &str, find: impl FnOnce(&Egress) -> Option<String>) -> Vec<Hit> {
    s.plan.net.egress.as_ref().and_then(find).map(|what| Hit::policy(pointer, what)).into_iter().collect()
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "SJ-P090",
        name: "egress-wildcard",
        severity: Warning,
        why: "Each name below a wildcard is asked for at its owner's resolver: a script can put what it knows into the names, and whoever rents a name there is reached.",
        source: "anthropic-experimental/sandbox-runtime, names of wildcards",
        fix: "List the names that are needed.",
        find: Find::With(|s| {
            hits(s, "/egress/allow", |egress| {
                let wild = egress.allow.iter().find(|allowed| matches!(allowed.name, Pattern::Wildcard(_)));
                wild.map(|allowed| format!("{} is a wildcard", allowed.name))
            })
        }),
    },
    Rule {
        id: "SJ-P091",
        name: "secrets-can-leave",
        severity: Warning,
        why: "A skill that declares secrets in its .skillenv can send them, and whatever it reads, to any host of the world.",
        source: "",
        fix: "Use mode names for skills that are handed secrets; public for those that are not.",
        find: Find::With(|s| {
            hits(s, "/egress/mode", |egress| {
                (egress.mode == EgressMode::Public).then(|| "egress.mode is public".to_owned())
            })
        }),
    },
    Rule {
        id: "SJ-P092",
        name: "egress-without-tls",
        severity: Note,
        why: "On port 80 nothing says to which name of a shared address a request goes, and anybody on the way reads and changes it.",
        source: "",
        fix: "List 443 alone where the server has it.",
        find: Find::With(|s| {
            hits(s, "/egress", |egress| egress.ports.contains(&80).then(|| "port 80 is listed".to_owned()))
        }),
    },
    Rule {
        id: "SJ-P093",
        name: "egress-server-name-unread",
        severity: Warning,
        why: "Many names share the addresses of a content network: without the server name of TLS each of them is reached through the one that is listed.",
        source: "",
        fix: "Set egress.sni to require.",
        find: Find::With(|s| {
            hits(s, "/egress/sni", |egress| {
                let unread = egress.mode == EgressMode::Names && egress.sni != Sni::Require;
                unread.then(|| "egress.mode is names, and the server name is not required".to_owned())
            })
        }),
    },
    Rule {
        id: "SJ-P094",
        name: "egress-reaches-nothing",
        severity: Note,
        why: "An empty list allows nothing: a skill that asks for the network gets sockets that reach nobody.",
        source: "",
        fix: "List what is needed, or say network.mode none.",
        find: Find::With(|s| {
            hits(s, "/egress", |egress| egress.ports.is_empty().then(|| "nothing is listed".to_owned()))
        }),
    },
];
