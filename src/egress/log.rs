//! What the result document says of lookups, connections and refusals.

use serde::Serialize;
use std::net::SocketAddr;
use std::time::Duration;

/// How many entries are kept, the rest is counted: of attempts, of what was refused, of the other lookups, of the other
/// connections. Each has a share of its own, so that a script cannot push out what it did with what it only tries. The last two
/// are bounded by the policy as well.
const SHARES: [usize; 4] = [256, 512, 1_024, 4_096];

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A question to the stub resolver.
    Lookup,
    /// A TCP connection to a port that is listened on.
    Connection,
    /// A packet to any other port or of another protocol, which the jail's kernel refused.
    Attempt,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Answered, or relayed.
    Allowed,
    /// The policy, or what the address is, said no.
    Refused,
    /// Allowed, and the far end or a limit ended it.
    Failed,
}

/// One lookup, connection or attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
pub struct Entry {
    /// What was tried.
    pub what: What,
    /// `tcp`, `udp`, `dns`, or the number of an IP protocol.
    pub protocol: String,
    /// The name: asked for, or the one that the address was looked up for, or the server name of TLS.
    pub name: Option<String>,
    /// The address; of a lookup all that were answered, with commas.
    pub address: Option<String>,
    /// The port.
    pub port: Option<u16>,
    /// What became of it.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// Bytes from the script.
    pub bytes_out: u64,
    /// Bytes to the script.
    pub bytes_in: u64,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// How often the same was refused.
    pub count: u64,
}

impl Entry {
    /// One that took no time and moved nothing.
    pub fn new(what: What, protocol: &str, verdict: Verdict, reason: impl Into<String>) -> Self {
        Self {
            what,
            protocol: protocol.to_owned(),
            name: None,
            address: None,
            port: None,
            verdict,
            reason: reason.into(),
            bytes_out: 0,
            bytes_in: 0,
            ms: 0,
            count: 1,
        }
    }

    /// With a name.
    #[must_use]
    pub fn name(mut self, name: Option<String>) -> Self {
        self.name = name;
        self
    }

    /// With an address and a port.
    #[must_use]
    pub fn at(mut self, address: SocketAddr) -> Self {
        self.address = Some(address.ip().to_string());
        self.port = Some(address.port());
        self
    }

    /// With its duration.
    #[must_use]
    pub fn took(mut self, time: Duration) -> Self {
        self.ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self
    }
}

/// The bounded log.
#[derive(Debug, Default)]
pub struct Log {
    kept: Vec<Entry>,
    // How many of each share.
    shares: [usize; SHARES.len()],
    total: u64,
}

impl Log {
    /// Writes one down; the same refusal again is counted with the first.
    pub fn record(&mut self, entry: Entry) {
        self.total += 1;
        let same = |old: &&mut Entry| {
            old.verdict == Verdict::Refused
                && (old.what, &old.protocol, &old.name, &old.address, old.port, &old.reason)
                    == (entry.what, &entry.protocol, &entry.name, &entry.address, entry.port, &entry.reason)
        };
        let repeated = entry.verdict == Verdict::Refused;
        if let Some(old) = repeated.then(|| self.kept.iter_mut().find(same)).flatten() {
            old.count += 1;
            return;
        }
        let share = match (entry.what, entry.verdict) {
            (What::Attempt, _) => 0,
            (What::Lookup | What::Connection, Verdict::Refused) => 1,
            (What::Lookup, _) => 2,
            (What::Connection, _) => 3,
        };
        if let (Some(used), Some(most)) = (self.shares.get_mut(share), SHARES.get(share))
            && *used < *most
        {
            *used += 1;
            self.kept.push(entry);
        }
    }

    /// The entries, and how many there were in all.
    pub fn into_parts(self) -> (Vec<Entry>, u64) {
        (self.kept, self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_of_refusals_pushes_out_what_was_carried() {
        let mut log = Log::default();
        let to = |port| SocketAddr::from(([192, 0, 2, 1], port));
        for port in 0..2_000 {
            log.record(Entry::new(What::Attempt, "udp", Verdict::Refused, "r").at(to(port)));
            log.record(Entry::new(What::Connection, "tcp", Verdict::Refused, "r").at(to(port)));
            log.record(Entry::new(What::Lookup, "dns", Verdict::Refused, "r").name(Some(port.to_string())));
        }
        log.record(Entry::new(What::Lookup, "dns", Verdict::Failed, "r"));
        log.record(Entry::new(What::Connection, "tcp", Verdict::Allowed, "r").at(to(443)));
        let (kept, total) = log.into_parts();
        assert_eq!((kept.len(), total), (SHARES[0] + SHARES[1] + 2, 6_002));
        assert_eq!(kept.last().map(|entry| entry.verdict), Some(Verdict::Allowed));
    }

    #[test]
    fn the_same_refusal_is_kept_once_and_counted() {
        let mut log = Log::default();
        for _ in 0..3 {
            log.record(Entry::new(What::Attempt, "udp", Verdict::Refused, "r"));
            log.record(Entry::new(What::Connection, "tcp", Verdict::Failed, "r"));
        }
        let (kept, total) = log.into_parts();
        assert_eq!((kept.len(), kept[0].count, total), (4, 3, 6));
    }
}
