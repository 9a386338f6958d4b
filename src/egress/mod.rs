//! The egress profile's broker: serves the listeners of the jail's net namespace from the host's, in the supervisor's loop.
//!
//! No host socket enters the jail. The jail's namespace has no way out; every address is its own (AnyIP), so that a connect
//! to an allowed port reaches a listener that the child opened there. The broker accepts, reads the original destination with
//! getsockname, [decides](decide), dials and relays. Names are answered by a stub on 127.0.0.53.

pub mod address;
pub mod decide;
pub mod dns;
mod flow;
pub mod hello;
mod hub;
pub mod log;
mod relay;
mod stub;
pub mod tap;
mod upstream;

pub use log::Entry;

use crate::policy::Egress;
use crate::sys::rtnetlink::Routes;
use crate::sys::{packet, rlimit};
use hub::{Hub, Token};
use log::Log;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use relay::Relay;
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};
use stub::Stub;
use upstream::Servers;

/// How often time limits are looked at while something is under way.
const TICK: Duration = Duration::from_millis(100);
/// How long the rest of what a script sent may take to leave after its end, where the far end takes it.
const DRAIN: Duration = Duration::from_secs(2);
/// Descriptors that the supervisor asks for: six for each connection that a jail's descriptors allow, and many more.
const MAX_OPEN_FILES: u64 = 8_192;
/// Waits of the epoll set in one turn, so that the supervisor's other work is not kept waiting.
const ROUNDS: usize = 8;

/// What the child opened in the jail's namespace.
#[derive(Debug)]
pub struct Sockets {
    /// The stub's UDP socket.
    pub datagrams: OwnedFd,
    /// The stub's TCP listener.
    pub queries: OwnedFd,
    /// The packet tap, where the kernel has one.
    pub tap: Option<OwnedFd>,
    /// A listener for each port and family.
    pub listeners: Vec<OwnedFd>,
    /// Whether the jail has IPv6.
    pub v6: bool,
}

/// What was made before clone.
#[derive(Debug)]
pub struct Prepared {
    egress: Egress,
    policy: String,
    servers: Servers,
    routes: Routes,
}

impl Prepared {
    /// Opens what the broker needs of the host.
    pub fn new(egress: &Egress, policy: &str) -> io::Result<Self> {
        let servers = Servers::new(&egress.dns_servers)?;
        Ok(Self { egress: egress.clone(), policy: policy.to_owned(), servers, routes: Routes::open()? })
    }
}

/// What a run did, and which of its limits it reached.
#[derive(Debug, Default)]
pub struct Account {
    /// Lookups, connections and attempts, in their order.
    pub entries: Vec<Entry>,
    /// All of them, also those that were not kept.
    pub total: u64,
    /// Attempts of which the kernel says only that there were so many: they came faster than they were read.
    pub lost: u64,
    /// The limits.
    pub reached: ReachedLimits,
}

/// Which limits were reached: something was refused for it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, none a state")]
pub struct ReachedLimits {
    /// Connections at once.
    pub connections: bool,
    /// Connections in all.
    pub connections_total: bool,
    /// Bytes.
    pub bytes: bool,
    /// Lookups.
    pub lookups: bool,
}

/// The broker.
#[derive(Debug)]
pub struct Broker {
    hub: Hub,
    relay: Relay,
    stub: Stub,
    tap: Option<UdpSocket>,
    ticked: Instant,
}

impl Broker {
    /// Takes over the jail's sockets.
    pub fn new(prepared: Prepared, sockets: Sockets) -> io::Result<Self> {
        // Ends of connections, and pipes of the large ones; the jail's own limit was set from the policy.
        if let Ok((soft, hard)) = rlimit::get(libc::RLIMIT_NOFILE)
            && soft < hard.min(MAX_OPEN_FILES)
        {
            // Where that fails, connections beyond the limit are refused and written down.
            drop(rlimit::set(libc::RLIMIT_NOFILE, hard.min(MAX_OPEN_FILES), hard));
        }
        let hub = Hub {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            rules: decide::Rules::new(prepared.egress),
            policy: prepared.policy,
            log: Log::default(),
            routes: prepared.routes,
            asked: std::collections::HashMap::new(),
            reached: ReachedLimits::default(),
        };
        let listeners = sockets.listeners.into_iter().map(TcpListener::from).collect();
        let relay = Relay::new(listeners, &hub)?;
        let (datagrams, queries) = (UdpSocket::from(sockets.datagrams), TcpListener::from(sockets.queries));
        let stub = Stub::new(datagrams, queries, prepared.servers, sockets.v6, &hub)?;
        // Only ever read from, which a packet socket does as a UDP one.
        let tap = sockets.tap.map(UdpSocket::from);
        if let Some(tap) = &tap {
            hub.watch(tap, Token::Tap, EpollFlags::EPOLLIN)?;
        }
        Ok(Self { hub, relay, stub, tap, ticked: Instant::now() })
    }

    /// Readable when there is something to do.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.hub.epoll.0.as_fd()
    }

    /// How long the caller may wait at most before it calls [`Broker::turn`] again.
    pub fn patience(&self) -> Option<Duration> {
        if self.relay.is_busy() {
            return Some(Duration::ZERO);
        }
        (!self.relay.is_idle() || !self.stub.is_idle()).then(|| TICK.saturating_sub(self.ticked.elapsed()))
    }

    /// Does what there is to do, for a bounded while.
    pub fn turn(&mut self) -> io::Result<()> {
        for _ in 0..ROUNDS {
            let mut events = [EpollEvent::empty(); 256];
            let count = match self.hub.epoll.wait(&mut events, EpollTimeout::ZERO) {
                Ok(count) => count,
                Err(nix::Error::EINTR) => continue,
                Err(errno) => return Err(errno.into()),
            };
            for event in events.get(..count).unwrap_or_default() {
                self.event(Token::of(event.data()), event.events());
            }
            self.relay.turn(&mut self.hub);
            self.relay.sweep();
            self.stub.sweep();
            if count == 0 && !self.relay.is_busy() {
                break;
            }
        }
        let now = Instant::now();
        if now.saturating_duration_since(self.ticked) >= TICK {
            self.ticked = now;
            self.relay.tick(now, &mut self.hub);
            self.stub.tick(now, &mut self.hub);
        }
        Ok(())
    }

    fn event(&mut self, token: Token, flags: EpollFlags) {
        let hub = &mut self.hub;
        match token {
            Token::Listener(index) => self.relay.accept(index, hub),
            Token::Inner(index) => self.relay.event(index, false, flags, hub),
            Token::Outer(index) => self.relay.event(index, true, flags, hub),
            Token::Datagrams => self.stub.datagrams(hub),
            Token::Queries => self.stub.accept(hub),
            Token::Query(index) => self.stub.query(index, hub),
            Token::Lookup(index) => self.stub.lookup(index, hub),
            Token::Tap => self.tapped(),
        }
    }

    fn tapped(&mut self) {
        let Some(tap) = &self.tap else { return };
        let mut headers = [0; packet::SNAP as usize];
        for _ in 0..256 {
            let Ok(count) = tap.recv(&mut headers) else { return };
            let headers = headers.get(..count).unwrap_or_default();
            if let Some(entry) = tap::attempt(headers, &self.hub.rules.policy().ports) {
                self.hub.note(entry);
            }
        }
    }

    /// After the script's own end: lets what it sent leave, as a kernel would.
    pub fn drain(&mut self) {
        let end = Instant::now() + DRAIN;
        while self.relay.is_sending() && Instant::now() < end {
            let wait = EpollTimeout::try_from(TICK).unwrap_or(EpollTimeout::ZERO);
            let mut one = [EpollEvent::empty()];
            let ready = self.relay.is_busy() || self.hub.epoll.wait(&mut one, wait).is_ok();
            // Level and edge alike: the event that woke us may be gone for the next wait, so it is handled here.
            if let Some(event) = one.first().filter(|event| !event.events().is_empty()) {
                self.event(Token::of(event.data()), event.events());
            }
            if !ready || self.turn().is_err() {
                return;
            }
        }
    }

    /// Closes everything.
    pub fn finish(mut self) -> Account {
        self.tapped();
        self.stub.end(&mut self.hub);
        self.relay.end(&mut self.hub);
        // A tap that cannot say how many it lost is not known to have lost any.
        let lost = self.tap.as_ref().and_then(|tap| packet::lost(tap.as_fd()).ok()).unwrap_or(0);
        let (entries, total) = self.hub.log.into_parts();
        Account { entries, total: total + u64::from(lost), lost: lost.into(), reached: self.hub.reached }
    }
}
