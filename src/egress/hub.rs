//! What the relay and the stub resolver share: the one epoll set, the rules, the log, the host's routes.

use super::ReachedLimits;
use super::decide::Rules;
use super::log::{Entry, Log, Verdict, What};
use crate::sys::rtnetlink::Routes;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// What an event of the epoll set is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// A listener of the relay.
    Listener(u32),
    /// The stub's datagrams.
    Datagrams,
    /// The stub's listener.
    Queries,
    /// The packet tap.
    Tap,
    /// A question to the host's resolver.
    Lookup(u32),
    /// A TCP connection to the stub.
    Query(u32),
    /// The script's end of a connection.
    Inner(u32),
    /// The far end of a connection.
    Outer(u32),
}

impl Token {
    fn number(self) -> u64 {
        let (kind, index) = match self {
            Self::Listener(index) => (0, index),
            Self::Datagrams => (1, 0),
            Self::Queries => (2, 0),
            Self::Tap => (3, 0),
            Self::Lookup(index) => (4, index),
            Self::Query(index) => (5, index),
            Self::Inner(index) => (6, index),
            Self::Outer(index) => (7, index),
        };
        u64::from(index) << 3 | kind
    }

    /// The token of an event.
    pub(super) fn of(number: u64) -> Self {
        let index = u32::try_from(number >> 3).unwrap_or(u32::MAX);
        match number & 7 {
            0 => Self::Listener(index),
            1 => Self::Datagrams,
            2 => Self::Queries,
            3 => Self::Tap,
            4 => Self::Lookup(index),
            5 => Self::Query(index),
            6 => Self::Inner(index),
            _ => Self::Outer(index),
        }
    }
}

/// Slots with stable numbers; a freed one is given out again only after [`Slots::sweep`], so that an event that is still on
/// its way for the old one finds nothing.
#[derive(Debug)]
pub(super) struct Slots<T> {
    all: Vec<Option<T>>,
    free: Vec<u32>,
    freed: Vec<u32>,
    open: usize,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { all: Vec::new(), free: Vec::new(), freed: Vec::new(), open: 0 }
    }
}

impl<T> Slots<T> {
    /// The number that the next one will have.
    pub(super) fn next(&self) -> u32 {
        self.free.last().copied().unwrap_or_else(|| u32::try_from(self.all.len()).unwrap_or(u32::MAX))
    }

    /// Puts one in.
    pub(super) fn insert(&mut self, value: T) -> u32 {
        self.open += 1;
        if let Some(index) = self.free.pop()
            && let Some(slot) = self.all.get_mut(index as usize)
        {
            *slot = Some(value);
            return index;
        }
        self.all.push(Some(value));
        u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX)
    }

    /// The one of this number.
    pub(super) fn slot(&mut self, index: u32) -> Option<&mut T> {
        self.all.get_mut(index as usize)?.as_mut()
    }

    /// Takes one out.
    pub(super) fn take(&mut self, index: u32) -> Option<T> {
        let value = self.all.get_mut(index as usize)?.take()?;
        self.freed.push(index);
        self.open -= 1;
        Some(value)
    }

    /// Lets the numbers of those taken out be used again.
    pub(super) fn sweep(&mut self) {
        self.free.append(&mut self.freed);
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.open
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.open == 0
    }

    /// The numbers of all of them.
    pub(super) fn numbers(&self) -> Vec<u32> {
        (0..).zip(&self.all).filter(|(_, slot)| slot.is_some()).map(|(index, _)| index).collect()
    }
}

/// What both parts work with.
#[derive(Debug)]
pub(super) struct Hub {
    /// The one set.
    pub(super) epoll: Epoll,
    /// What is allowed.
    pub(super) rules: Rules,
    /// The policy's name, for messages.
    pub(super) policy: String,
    /// What is written down.
    pub(super) log: Log,
    /// The host's routes.
    pub(super) routes: Routes,
    /// What the routes said last of an address, and when.
    pub(super) asked: HashMap<IpAddr, (Instant, Result<(), String>)>,
    /// The limits that something was refused for.
    pub(super) reached: ReachedLimits,
}

/// How long what the routes said is believed: a program that connects a thousand times asks once a second.
const BELIEVED: Duration = Duration::from_secs(1);
/// Addresses that are remembered.
const REMEMBERED: usize = 4_096;

impl Hub {
    /// Watches a descriptor.
    pub(super) fn watch(&self, fd: impl AsFd, token: Token, flags: EpollFlags) -> io::Result<()> {
        Ok(self.epoll.add(fd, EpollEvent::new(flags, token.number()))?)
    }

    /// Whether an address is one that this host reaches and that is not itself: the last word, of the host's own routes.
    pub(super) fn reachable(&mut self, address: IpAddr) -> Result<(), String> {
        self.rules.address(address)?;
        if let Some((when, said)) = self.asked.get(&address)
            && when.elapsed() < BELIEVED
        {
            return said.clone();
        }
        let said = self.route(address);
        if self.asked.len() >= REMEMBERED {
            self.asked.clear();
        }
        self.asked.insert(address, (Instant::now(), said.clone()));
        said
    }

    fn route(&self, address: IpAddr) -> Result<(), String> {
        match self.routes.kind(address) {
            Ok(libc::RTN_UNICAST) => Ok(()),
            Ok(libc::RTN_LOCAL) => Err("an address of this host".to_owned()),
            Ok(_) => Err("the host's routes lead to no single machine".to_owned()),
            Err(error) => Err(format!("the host has no way to it: {error}")),
        }
    }

    /// Writes down a refused or failed thing.
    pub(super) fn note(&mut self, entry: Entry) {
        self.log.record(entry);
    }

    /// An entry of a lookup.
    pub(super) fn lookup(verdict: Verdict, name: &str, reason: impl Into<String>) -> Entry {
        Entry::new(What::Lookup, "dns", verdict, reason).name(Some(name.to_owned()))
    }
}
