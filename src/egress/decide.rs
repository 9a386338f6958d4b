//! What is allowed: pure, from the policy and what was looked up so far.

use super::address;
use super::hello::Hello;
use crate::policy::egress::{Egress, EgressMode, Name, Sni};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// The rules of a run, and the addresses that its lookups had.
#[derive(Debug)]
pub struct Rules {
    egress: Egress,
    // Every address that was answered, with the names that had it.
    pins: BTreeMap<IpAddr, Vec<Name>>,
}

/// What a run has to hold until its server name is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerName {
    /// Nothing is looked at.
    Unread,
    /// Written down.
    Logged,
    /// Nothing leaves before it is known and right.
    Required,
}

impl Rules {
    /// The rules of a policy, nothing looked up.
    pub fn new(egress: Egress) -> Self {
        Self { egress, pins: BTreeMap::new() }
    }

    /// The policy's part.
    pub fn policy(&self) -> &Egress {
        &self.egress
    }

    /// Whether a name may be looked up; why not.
    pub fn lookup(&self, name: &Name) -> Result<(), String> {
        if let Some(what) = address::special_name(name.as_str()) {
            return Err(format!("no public name: {what}"));
        }
        let listed = self.egress.mode == EgressMode::Public
            || self.egress.allow.iter().any(|allowed| !allowed.ports.is_empty() && allowed.name.covers(name));
        if listed { Ok(()) } else { Err("the policy does not list this name".to_owned()) }
    }

    /// Whether an address may be answered or connected to; what it is when not.
    pub fn address(&self, address: IpAddr) -> Result<(), String> {
        if let Some(what) = address::special(address) {
            return Err(format!("not a public address: {what}"));
        }
        match self.egress.deny.iter().find(|denied| denied.network.holds(address)) {
            Some(denied) => Err(format!("the policy counts {} as inside: {}", denied.network, denied.reason)),
            None => Ok(()),
        }
    }

    /// Remembers an answer; only what [`Rules::address`] passed comes here.
    pub fn pin(&mut self, name: &Name, address: IpAddr) {
        let names = self.pins.entry(address).or_default();
        if !names.contains(name) {
            names.push(name.clone());
        }
    }

    fn port_allowed(&self, name: &Name, port: u16) -> bool {
        match self.egress.mode {
            EgressMode::Public => self.egress.ports.contains(&port),
            EgressMode::Names => self
                .egress
                .allow
                .iter()
                .any(|allowed| allowed.name.covers(name) && allowed.ports.contains(&port)),
        }
    }

    /// The names that make a connection allowed (none in mode `public` without a lookup); why it is not.
    pub fn connection(&self, to: SocketAddr) -> Result<Vec<Name>, String> {
        self.address(to.ip())?;
        let pinned = self.pins.get(&to.ip()).map(Vec::as_slice).unwrap_or_default();
        let names: Vec<Name> =
            pinned.iter().filter(|name| self.port_allowed(name, to.port())).cloned().collect();
        match self.egress.mode {
            EgressMode::Public if self.egress.ports.contains(&to.port()) => Ok(names),
            EgressMode::Public => Err("the policy does not list this port".to_owned()),
            EgressMode::Names if !names.is_empty() => Ok(names),
            EgressMode::Names if pinned.is_empty() => {
                Err("no name that the policy lists was looked up and had this address".to_owned())
            }
            EgressMode::Names => {
                Err("the policy does not list this port for the name of this address".to_owned())
            }
        }
    }

    /// What the server name is for on this port.
    pub fn server_name_on(&self, port: u16) -> ServerName {
        match self.egress.sni {
            _ if !self.egress.sni_ports.contains(&port) => ServerName::Unread,
            Sni::Off => ServerName::Unread,
            Sni::Log => ServerName::Logged,
            Sni::Require => ServerName::Required,
        }
    }

    /// Whether the server name is one of the names of the connection.
    pub fn server_name(&self, names: &[Name], hello: &Hello) -> Result<Name, String> {
        match hello {
            Hello::ServerName(text) => match Name::parse(text) {
                Ok(name) if names.contains(&name) => Ok(name),
                Ok(name) => Err(format!("the server name {name} is no allowed name that has this address")),
                Err(why) => Err(format!("the server name {text:?} is none: {why}")),
            },
            Hello::Absent => Err("the client hello has no server name".to_owned()),
            Hello::Incomplete => Err("no whole client hello came".to_owned()),
            Hello::Other(what) => {
                Err(format!("the policy requires TLS with a server name, and this is {what}"))
            }
        }
    }

    /// Another address of these names, to fall back to. Of several names that share an address nobody said which one is
    /// meant: only an address that all of them have is as good.
    pub fn others(&self, names: &[Name], tried: &[IpAddr]) -> Option<IpAddr> {
        let has = |pinned: &Vec<Name>| !names.is_empty() && names.iter().all(|name| pinned.contains(name));
        self.pins.iter().find(|(address, pinned)| !tried.contains(address) && has(pinned)).map(|(a, _)| *a)
    }
}
