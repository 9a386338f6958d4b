//! The `egress` part of a policy, checked: names normalised, numbers parsed.

use super::limits::Bound;
use super::{PolicyError, schema};
pub use schema::{EgressMode, Sni};
use serde::{Serialize, Serializer};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// Ports that a policy may list, so that the listeners of a jail fit in one message.
const MAX_PORTS: usize = 16;
/// The stub's own port, on which nothing else listens.
pub const DNS_PORT: u16 = 53;

/// What is wrong with the `egress` part. The author of the policy file can mend each.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum EgressError {
    /// `egress` and `network.mode` say different things.
    #[error(
        "`egress` and `network.mode` disagree: the one needs the other\nhint: network.mode \"egress\" goes with an `egress` object, \"none\" without"
    )]
    Mode,
    /// A name that cannot be one.
    #[error("`egress.allow` {name:?}: {why}")]
    Name {
        /// As it stands there.
        name: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A list that the mode does not read.
    #[error("`egress.{field}` stands in a policy of mode {mode}, which does not read it\nhint: {hint}")]
    Unread {
        /// The list.
        field: &'static str,
        /// The mode.
        mode: &'static str,
        /// Where it belongs.
        hint: &'static str,
    },
    /// A port that cannot be listed.
    #[error("`egress` port {port}: {why}")]
    Port {
        /// Which.
        port: u16,
        /// What is wrong.
        why: &'static str,
    },
    /// More ports than listeners.
    #[error("`egress` lists {count} different ports: at most {MAX_PORTS}")]
    Ports {
        /// How many.
        count: usize,
    },
    /// A resolver that is no address.
    #[error("`egress.dns.servers` {server:?} is no address, with or without a port")]
    Server {
        /// As it stands there.
        server: String,
    },
    /// A network that is none.
    #[error("`egress.deny` {network:?} is neither an address nor one with a prefix length")]
    Network {
        /// As it stands there.
        network: String,
    },
    /// A path that is not absolute.
    #[error("`egress.ca_bundle` {path:?} is not an absolute path")]
    CaBundle {
        /// As it stands there.
        path: String,
    },
    /// `--egress-allow` that is no name and port, or more than the policy allows.
    #[error("--egress-allow {word:?}: {why}")]
    Narrow {
        /// The word.
        word: String,
        /// What is wrong.
        why: String,
    },
}

/// A host name: ASCII (IDNA), lower case, no trailing dot, at least two labels, no address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// Normalises a name; says why it cannot be one.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let ascii = idna::domain_to_ascii_cow(text.as_bytes(), idna::AsciiDenyList::STD3)
            .map_err(|_| "not a host name (IDNA)")?
            .into_owned();
        if ascii.is_empty() || ascii.len() > 253 {
            return Err("a name has 1 to 253 characters");
        }
        if ascii.split('.').any(|label| label.is_empty() || label.len() > 63) {
            return Err("a label has 1 to 63 characters");
        }
        // What a client would take for an address and never look up: the last label of a name is not all digits, nor 0x….
        let last = ascii.rsplit('.').next().unwrap_or_default();
        if last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x") {
            return Err("an address, or what programs take for one, is no name");
        }
        if !ascii.contains('.') {
            return Err("one label alone is a name of the host's own network");
        }
        Ok(Self(ascii))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name, or any one label before a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// This name.
    Exact(Name),
    /// `*.` and this name.
    Wildcard(Name),
}

impl Pattern {
    /// Reads a pattern; says why it cannot be one.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let Some(base) = text.strip_prefix("*.") else {
            if text.contains('*') {
                return Err("`*` stands for the one first label and nowhere else");
            }
            return Name::parse(text).map(Self::Exact);
        };
        let Ok(base) = Name::parse(base) else {
            return Err("a wildcard needs a name of two labels or more below it");
        };
        // A suffix that is not on the list counts as one by the list's own default rule: its last label.
        let is_suffix = |name: &str| psl::suffix(name.as_bytes()).is_none_or(|suffix| suffix == name);
        // And some have every name below a name, such as *.compute.amazonaws.com.cn.
        if is_suffix(base.as_str()) || is_suffix(&format!("x.{base}")) {
            return Err("a wildcard of a public suffix would be everybody's names");
        }
        Ok(Self::Wildcard(base))
    }

    /// Whether it covers this name.
    pub fn covers(&self, name: &Name) -> bool {
        match self {
            Self::Exact(own) => own == name,
            Self::Wildcard(base) => name.0.split_once('.').is_some_and(|(_, rest)| rest == base.0),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => name.fmt(f),
            Self::Wildcard(name) => write!(f, "*.{name}"),
        }
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An address and the length of a prefix of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network(IpAddr, u8);

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address.parse::<IpAddr>().ok()?, Some(length.parse::<u8>().ok()?)),
            None => (text.parse::<IpAddr>().ok()?, None),
        };
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.unwrap_or(most);
        let network = Self(address, length);
        // Bits below the prefix would say another network than is meant.
        (length <= most && network.first() == address).then_some(network)
    }

    /// Its first address.
    fn first(&self) -> IpAddr {
        match self.0 {
            IpAddr::V4(own) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.1)).unwrap_or(0);
                Ipv4Addr::from_bits(own.to_bits() & mask).into()
            }
            IpAddr::V6(own) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.1)).unwrap_or(0);
                Ipv6Addr::from_bits(own.to_bits() & mask).into()
            }
        }
    }

    /// Whether all of it lies in another.
    pub fn is_within(&self, other: &Self) -> bool {
        other.1 <= self.1 && other.holds(self.0)
    }

    /// Whether an address lies in it.
    pub fn holds(&self, address: IpAddr) -> bool {
        let (own, other, width) = match (self.0, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => (own.to_bits().into(), other.to_bits().into(), 32),
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits(), other.to_bits(), 128),
            _ => return false,
        };
        let (own, other): (u128, u128) = (own, other);
        let shift = width - u32::from(self.1);
        own.checked_shr(shift).unwrap_or(0) == other.checked_shr(shift).unwrap_or(0)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0, self.1)
    }
}

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A network that counts as inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Denied {
    /// Which.
    pub network: Network,
    /// What is there.
    pub reason: String,
}

/// A name and its ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Allowed {
    /// The name or names.
    pub name: Pattern,
    /// Ports, sorted.
    pub ports: Vec<u16>,
    /// Who needs it.
    pub reason: String,
}

/// Where a run may connect to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Egress {
    /// Which addresses.
    pub mode: EgressMode,
    /// Mode `names`; in mode `public` what the caller narrowed the run to, and none when nothing was said.
    pub allow: Vec<Allowed>,
    /// Every port that is listened on, sorted.
    pub ports: Vec<u16>,
    /// Networks that count as inside.
    pub deny: Vec<Denied>,
    /// What the server name of TLS is for …
    pub sni: Sni,
    /// … and on which ports.
    pub sni_ports: Vec<u16>,
    /// Connections open at once.
    pub max_connections: Bound,
    /// Connections of a run.
    pub max_connections_total: Bound,
    /// Bytes of a run.
    pub max_bytes: Bound,
    /// From a connect to the far end's answer.
    pub connect_timeout_ms: Bound,
    /// Without a byte.
    pub idle_timeout_ms: Bound,
    /// Resolvers; the host's own when there are none.
    pub dns_servers: Vec<SocketAddr>,
    /// One lookup.
    pub dns_timeout_ms: Bound,
    /// Lookups of a run.
    pub max_lookups: Bound,
    /// The CA bundle on the host.
    pub ca_bundle: Option<PathBuf>,
}

impl Egress {
    /// Checks the `egress` object.
    pub(super) fn new(raw: &schema::Egress) -> Result<Self, PolicyError> {
        let names = raw.mode == EgressMode::Names;
        let unread = |field, mode, hint| Err(EgressError::Unread { field, mode, hint }.into());
        if names && !raw.ports.is_empty() {
            return unread("ports", "names", "list ports with each name");
        }
        if !names && !raw.allow.is_empty() {
            return unread("allow", "public", "mode names reads it; public allows every name");
        }
        let allow = raw.allow.iter().map(allowed).collect::<Result<Vec<_>, _>>()?;
        for port in &raw.ports {
            super::reason("egress.ports[]", &port.reason)?;
        }
        let listed = allow.iter().flat_map(|a| a.ports.clone());
        let ports = check_ports(listed.chain(raw.ports.iter().map(|port| port.port)).collect())?;
        let count = |field, count: &schema::Count, low, high| {
            super::limits::within(field, &super::limits::count(field, count)?, low, high)
        };
        count("egress.max_connections", &raw.max_connections, 1, 4_096)?;
        count("egress.max_connections_total", &raw.max_connections_total, 1, 1 << 20)?;
        count("egress.dns.max_lookups", &raw.dns.max_lookups, 0, 1 << 16)?;
        let millis = |field, duration: &schema::Duration| {
            let bound = super::limits::millis(field, duration)?;
            super::limits::within(field, &bound, 1, 86_400_000).map(|()| bound)
        };
        let number = |count: &schema::Count| Bound { value: count.value, reason: count.reason.clone() };
        let ca_bundle = raw.ca_bundle.as_ref().map(|path| {
            let absolute = path.starts_with('/');
            absolute.then(|| PathBuf::from(path)).ok_or_else(|| EgressError::CaBundle { path: path.clone() })
        });
        Ok(Self {
            mode: raw.mode,
            allow,
            ports,
            deny: raw.deny.iter().map(denied).collect::<Result<_, _>>()?,
            sni: raw.sni,
            sni_ports: check_ports(raw.sni_ports.clone())?,
            max_connections: number(&raw.max_connections),
            max_connections_total: number(&raw.max_connections_total),
            max_bytes: super::limits::size("egress.max_bytes", &raw.max_bytes)?,
            connect_timeout_ms: millis("egress.connect_timeout", &raw.connect_timeout)?,
            idle_timeout_ms: millis("egress.idle_timeout", &raw.idle_timeout)?,
            dns_servers: raw.dns.servers.iter().map(|word| server(word)).collect::<Result<_, _>>()?,
            dns_timeout_ms: millis("egress.dns.timeout", &raw.dns.timeout)?,
            max_lookups: number(&raw.dns.max_lookups),
            ca_bundle: ca_bundle.transpose()?,
        })
    }

    /// Narrows a run to these `NAME:PORT`; each must be within what the policy allows.
    pub fn narrow(&mut self, words: &[String]) -> Result<(), EgressError> {
        if words.is_empty() {
            return Ok(());
        }
        let mut allow: Vec<Allowed> = Vec::new();
        for word in words {
            let wrong = |why: &str| EgressError::Narrow { word: word.clone(), why: why.to_owned() };
            let (name, port) = word.rsplit_once(':').ok_or_else(|| wrong("not NAME:PORT"))?;
            // `parse` would take a sign too.
            let digits = port.bytes().all(|byte| byte.is_ascii_digit());
            let port: u16 = port.parse().ok().filter(|_| digits).ok_or_else(|| wrong("not NAME:PORT"))?;
            let name = Pattern::parse(name).map_err(wrong)?;
            let within = |allowed: &Allowed| {
                let covered = match &name {
                    Pattern::Exact(name) => allowed.name.covers(name),
                    wildcard @ Pattern::Wildcard(_) => allowed.name == *wildcard,
                };
                covered && allowed.ports.contains(&port)
            };
            let public = self.mode == EgressMode::Public && self.allow.is_empty();
            let Some(reason) = (if public {
                self.ports.contains(&port).then(|| "any name".to_owned())
            } else {
                self.allow.iter().find(|allowed| within(allowed)).map(|allowed| allowed.reason.clone())
            }) else {
                return Err(wrong("the policy does not allow it\nhint: a caller may narrow, never widen"));
            };
            allow.push(Allowed { name, ports: vec![port], reason });
        }
        self.ports = check_ports(allow.iter().flat_map(|allowed| allowed.ports.clone()).collect())?;
        self.allow = allow;
        self.mode = EgressMode::Names;
        Ok(())
    }
}

fn allowed(raw: &schema::EgressAllow) -> Result<Allowed, PolicyError> {
    super::reason("egress.allow[]", &raw.reason)?;
    let name = Pattern::parse(&raw.name).map_err(|why| EgressError::Name { name: raw.name.clone(), why })?;
    let ports = check_ports(raw.ports.clone())?;
    Ok(Allowed { name, ports, reason: raw.reason.clone() })
}

fn denied(raw: &schema::EgressDeny) -> Result<Denied, PolicyError> {
    super::reason("egress.deny[]", &raw.reason)?;
    let wrong = || EgressError::Network { network: raw.network.clone() };
    let network = Network::parse(&raw.network).ok_or_else(wrong)?;
    Ok(Denied { network, reason: raw.reason.clone() })
}

fn check_ports(mut ports: Vec<u16>) -> Result<Vec<u16>, EgressError> {
    ports.sort_unstable();
    ports.dedup();
    for port in &ports {
        let why = match *port {
            0 => "no such port",
            DNS_PORT => "names are the jail's own resolver's business",
            _ => continue,
        };
        return Err(EgressError::Port { port: *port, why });
    }
    if ports.len() > MAX_PORTS {
        return Err(EgressError::Ports { count: ports.len() });
    }
    Ok(ports)
}

fn server(word: &str) -> Result<SocketAddr, EgressError> {
    let plain = word.parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, DNS_PORT));
    let named = plain.or_else(|| word.parse().ok()).filter(|server| server.port() != 0);
    named.ok_or_else(|| EgressError::Server { server: word.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_folded_and_normalised() {
        for (written, meant) in [
            ("API.Example.org.", "api.example.org"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ] {
            assert_eq!(Name::parse(written).unwrap().as_str(), meant);
        }
        for wrong in [
            "",
            ".",
            "..",
            "a..b",
            "localhost",
            "10.0.0.1",
            "1.2.3",
            "0x7f.1",
            "0x7f000001",
            "2130706433",
            "a.0x1",
            "::1",
            "[::1]",
            "a b.org",
            "a/b.org",
            "a@b.org",
            "a:b.org",
            "*.org",
            "_x.example.org",
            &"a.".repeat(200),
        ] {
            assert!(Name::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_wildcard_is_one_label_and_never_a_public_suffix() {
        let pattern = Pattern::parse("*.Example.ORG").unwrap();
        let covers = |name: &str| pattern.covers(&Name::parse(name).unwrap());
        assert!(covers("a.example.org"));
        for other in ["example.org", "a.b.example.org", "aexample.org", "a.example.org.evil.com"] {
            assert!(!covers(other), "{other}");
        }
        for wrong in [
            "*",
            "*.",
            "*.org",
            "*.co.uk",
            "*.github.io",
            "*.compute.amazonaws.com.cn",
            "a.*.example.org",
            "*a.example.org",
            "**.example.org",
            "*.unheard-of",
        ] {
            assert!(Pattern::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
