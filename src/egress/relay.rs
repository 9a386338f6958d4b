//! The relay: connections that the jail's listeners accepted, each judged, dialled from the host's namespace, and carried in both
//! directions by the supervisor's one loop.

use super::decide::ServerName;
use super::flow::{Broken, Flow, Moved, Reading};
use super::hello::{self, Hello};
use super::hub::{Hub, Slots, Token};
use super::log::{Entry, Verdict, What};
use crate::policy::egress::Name;
use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, SockaddrStorage, sockopt};
use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::{Duration, Instant};

const OVER: &str = "more bytes than the policy allows a run";
/// Connections that are accepted in one turn.
const ACCEPTS: usize = 64;
const SOCKETS: SockFlag = SockFlag::SOCK_CLOEXEC.union(SockFlag::SOCK_NONBLOCK);

#[derive(Debug)]
enum State {
    /// Waiting for the client hello.
    Hello,
    /// Dialling.
    Dialling { deadline: Instant },
    /// Carrying.
    Open,
}

#[derive(Debug)]
struct Connection {
    inner: TcpStream,
    outer: Option<TcpStream>,
    state: State,
    // Where the script wanted to, and where the far end is: another address of the name when that did not answer.
    wanted: SocketAddr,
    dialled: SocketAddr,
    tried: Vec<IpAddr>,
    names: Vec<Name>,
    name: Option<Name>,
    // What of the beginning is looked at for its server name only.
    sniffed: Option<Vec<u8>>,
    why: String,
    up: Flow,
    down: Flow,
    started: Instant,
    deadline: Instant,
    moved: Instant,
    queued: bool,
}

/// Every connection.
#[derive(Debug)]
pub(super) struct Relay {
    listeners: Vec<TcpListener>,
    connections: Slots<Connection>,
    // Those that had more to carry than one turn.
    queue: VecDeque<u32>,
    total: u64,
    bytes: u64,
    buffer: Vec<u8>,
    // Given up to accept and refuse when there are no more descriptors.
    spare: Option<OwnedFd>,
}

/// Closes with a reset, so that the other side cannot take it for an orderly end.
fn reset(stream: &TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // When that fails the other side sees an end of file, and the document what happened.
    let _ = socket::setsockopt(stream, sockopt::Linger, &linger);
}

fn dial(to: SocketAddr) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let socket = socket::socket(family, SockType::Stream, SOCKETS, None)?;
    match socket::connect(socket.as_raw_fd(), &SockaddrStorage::from(to)) {
        Ok(()) | Err(nix::Error::EINPROGRESS) => Ok(TcpStream::from(socket)),
        Err(errno) => Err(errno.into()),
    }
}

const BOTH: EpollFlags =
    EpollFlags::EPOLLIN.union(EpollFlags::EPOLLOUT).union(EpollFlags::EPOLLRDHUP).union(EpollFlags::EPOLLET);

impl Relay {
    /// Serves these listeners.
    pub(super) fn new(listeners: Vec<TcpListener>, hub: &Hub) -> io::Result<Self> {
        for (index, listener) in (0..).zip(&listeners) {
            listener.set_nonblocking(true)?;
            // What is relayed in small pieces must not wait for more; accepted sockets inherit it.
            socket::setsockopt(listener, sockopt::TcpNoDelay, &true)?;
            hub.watch(listener, Token::Listener(index), EpollFlags::EPOLLIN)?;
        }
        Ok(Self {
            listeners,
            connections: Slots::default(),
            queue: VecDeque::new(),
            total: 0,
            bytes: 0,
            buffer: vec![0; 256 << 10],
            spare: spare(),
        })
    }

    /// Accepts what is waiting.
    pub(super) fn accept(&mut self, listener: u32, hub: &mut Hub) {
        for _ in 0..ACCEPTS {
            let Some(listener) = self.listeners.get(listener as usize) else { return };
            match socket::accept4(listener, SOCKETS) {
                Ok(inner) => self.accepted(inner.into(), hub),
                Err(Errno::EMFILE | Errno::ENFILE) => {
                    self.spare = None;
                    if let Ok(inner) = socket::accept4(listener, SOCKETS) {
                        let inner = TcpStream::from(inner);
                        reset(&inner);
                        let reason = "the supervisor has no descriptor left";
                        refuse(&inner, Verdict::Failed, reason, hub);
                    }
                    self.spare = spare();
                }
                Err(_) => return,
            }
        }
    }

    fn accepted(&mut self, inner: TcpStream, hub: &mut Hub) {
        self.total += 1;
        let policy = hub.rules.policy();
        let over = if self.total > policy.max_connections_total.value {
            hub.reached.connections_total = true;
            Some("more connections than the policy allows a run")
        } else if self.connections.len() as u64 >= policy.max_connections.value {
            hub.reached.connections = true;
            Some("more connections open at once than the policy allows")
        } else if self.bytes >= policy.max_bytes.value {
            hub.reached.bytes = true;
            Some(OVER)
        } else {
            None
        };
        let wait = Duration::from_millis(policy.connect_timeout_ms.value);
        let wanted = match inner.local_addr() {
            Ok(wanted) => normal(wanted),
            Err(_) => return,
        };
        let judged = match over {
            Some(why) => Err(why.to_owned()),
            None => hub.rules.connection(wanted).and_then(|names| hub.reachable(wanted.ip()).map(|()| names)),
        };
        let names = match judged {
            Ok(names) => names,
            Err(why) => return refuse(&inner, Verdict::Refused, &why, hub),
        };
        let server_name = hub.rules.server_name_on(wanted.port());
        let now = Instant::now();
        let index = self.connections.next();
        if hub.watch(&inner, Token::Inner(index), BOTH).is_err() {
            return;
        }
        let name = names.first().cloned();
        let index = self.connections.insert(Connection {
            inner,
            outer: None,
            state: State::Hello,
            wanted,
            dialled: wanted,
            tried: Vec::new(),
            why: match &name {
                Some(name) => format!("{name} had this address"),
                None => "a public address on a listed port".to_owned(),
            },
            names,
            name,
            sniffed: (server_name == ServerName::Logged).then(Vec::new),
            up: Flow::default(),
            down: Flow::default(),
            started: now,
            deadline: now + wait,
            moved: now,
            queued: false,
        });
        match server_name {
            ServerName::Required => self.hello(index, hub),
            ServerName::Logged | ServerName::Unread => self.dial(index, hub),
        }
    }

    /// An event of one side.
    pub(super) fn event(&mut self, index: u32, outer: bool, flags: EpollFlags, hub: &mut Hub) {
        let Some(connection) = self.connections.slot(index) else { return };
        match connection.state {
            State::Hello => self.hello(index, hub),
            State::Dialling { .. } if outer => self.dialled(index, flags, hub),
            State::Dialling { .. } => {
                // A client that goes away while we dial needs no answer any more.
                if flags.intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP) {
                    self.close(index, Verdict::Failed, "the script gave up", hub);
                }
            }
            State::Open => {
                let over = flags.intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP);
                let comes = flags.intersects(EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP);
                // What is read on one side is written on the other: an event is about one direction, or about a write that
                // waited for it; while that waited, the end of the other side may have been told.
                let ended = over || flags.contains(EpollFlags::EPOLLRDHUP);
                let reading = if ended { Reading::ToTheEnd } else { Reading::WhatIsThere };
                let from_here = (over || comes).then_some(reading);
                let held_up = if outer { &connection.up } else { &connection.down }.is_held_up();
                let to_here = (over || held_up).then_some(Reading::ToTheEnd);
                let (up, down) = if outer { (to_here, from_here) } else { (from_here, to_here) };
                self.carry(index, up, down, hub);
                if flags.contains(EpollFlags::EPOLLERR) {
                    self.broke(index, outer, hub);
                }
            }
        }
    }

    /// A side that is in error though nothing was read or written: both directions may have ended on it already.
    fn broke(&mut self, index: u32, outer: bool, hub: &mut Hub) {
        let Some(connection) = self.connections.slot(index) else { return };
        let side = if outer { connection.outer.as_ref() } else { Some(&connection.inner) };
        if let Some(Ok(Some(error))) = side.map(TcpStream::take_error) {
            let verdict = if outer { Verdict::Failed } else { Verdict::Allowed };
            let why = broken(if outer { "far" } else { "script's" }, &error);
            self.close(index, verdict, &why, hub);
        }
    }

    /// Reads the client hello and judges its server name.
    fn hello(&mut self, index: u32, hub: &mut Hub) {
        let Some(connection) = self.connections.slot(index) else { return };
        let mut ended = false;
        loop {
            let room = hello::MAX_BYTES.saturating_sub(connection.up.waiting().len());
            let Some(buffer) = self.buffer.get_mut(..room.min(16 << 10)).filter(|b| !b.is_empty()) else {
                break;
            };
            match connection.inner.read(buffer) {
                Ok(0) => ended = true,
                Ok(count) => {
                    connection.up.keep(buffer.get(..count).unwrap_or_default());
                    self.bytes += count as u64;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let why = format!("the script's end broke: {error}");
                    return self.close(index, Verdict::Failed, &why, hub);
                }
            }
            break;
        }
        if self.bytes > hub.rules.policy().max_bytes.value {
            return self.over(index, hub);
        }
        let hello = hello::read(connection.up.waiting());
        if hello == Hello::Incomplete && !ended {
            return;
        }
        let judged = match (&hello, connection.up.waiting().is_empty()) {
            (Hello::Incomplete, true) => Err("the script closed it before it sent anything".to_owned()),
            _ if connection.names.is_empty() => {
                Err("no name was looked up and had this address, so no server name can be right".to_owned())
            }
            _ => hub.rules.server_name(&connection.names, &hello),
        };
        match judged {
            Ok(name) => {
                connection.why = format!("{name} had this address and is the server name");
                // What it may fall back to is an address of this name.
                connection.names = vec![name.clone()];
                connection.name = Some(name);
                self.dial(index, hub);
            }
            Err(why) => self.close(index, Verdict::Refused, &why, hub),
        }
    }

    fn dial(&mut self, index: u32, hub: &mut Hub) {
        let Some(connection) = self.connections.slot(index) else { return };
        let to = connection.dialled;
        connection.tried.push(to.ip());
        let started = dial(to).and_then(|outer| {
            hub.watch(&outer, Token::Outer(index), BOTH)?;
            Ok(outer)
        });
        match started {
            Ok(outer) => {
                connection.outer = Some(outer);
                // Where there are more addresses none may take the whole of the time.
                let wait = Duration::from_millis(hub.rules.policy().connect_timeout_ms.value);
                let first = if hub.rules.others(&connection.names, &connection.tried).is_some() {
                    wait / 3
                } else {
                    wait
                };
                connection.state =
                    State::Dialling { deadline: (Instant::now() + first).min(connection.deadline) };
            }
            Err(error) => self.fall_back(index, &error, hub),
        }
    }

    /// The next pinned address of the name, before anything was sent; the end where there is none.
    fn fall_back(&mut self, index: u32, error: &io::Error, hub: &mut Hub) {
        let Some(connection) = self.connections.slot(index) else { return };
        connection.outer = None;
        let next = hub.rules.others(&connection.names, &connection.tried);
        match next.filter(|_| Instant::now() < connection.deadline) {
            Some(next) if hub.reachable(next).is_ok() => {
                connection.dialled = SocketAddr::new(next, connection.wanted.port());
                connection.why =
                    format!("{}; {} did not answer ({error})", connection.why, connection.wanted.ip());
                self.dial(index, hub);
            }
            _ => self.close(index, Verdict::Failed, &format!("the far end did not answer: {error}"), hub),
        }
    }

    fn dialled(&mut self, index: u32, flags: EpollFlags, hub: &mut Hub) {
        let Some(connection) = self.connections.slot(index) else { return };
        let Some(outer) = &connection.outer else { return };
        if flags.intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP) {
            let error = outer.take_error().ok().flatten();
            let error = error.unwrap_or_else(|| io::Error::from_raw_os_error(libc::ECONNREFUSED));
            return self.fall_back(index, &error, hub);
        }
        // Writable without an error: connected.
        if flags.contains(EpollFlags::EPOLLOUT) {
            drop(outer.set_nodelay(true));
            connection.state = State::Open;
            connection.moved = Instant::now();
            self.carry(index, Some(Reading::ToTheEnd), Some(Reading::ToTheEnd), hub);
        }
    }

    fn over(&mut self, index: u32, hub: &mut Hub) {
        hub.reached.bytes = true;
        self.close(index, Verdict::Failed, OVER, hub);
    }

    fn carry(&mut self, index: u32, upward: Option<Reading>, downward: Option<Reading>, hub: &mut Hub) {
        let budget = hub.rules.policy().max_bytes.value;
        let Some(connection) = self.connections.slot(index) else { return };
        let Some(outer) = &connection.outer else { return };
        let room = budget.saturating_sub(self.bytes);
        let mut left = room;
        let before = connection.up.bytes() + connection.down.bytes();
        let (mut up, mut down) = (Ok(Moved::Blocked), Ok(Moved::Blocked));
        if let Some(reading) = upward {
            let seen = &mut connection.sniffed;
            up = connection.up.carry(&connection.inner, outer, &mut self.buffer, &mut left, reading, seen);
        }
        if let Some(reading) = downward {
            down = connection.down.carry(
                outer,
                &connection.inner,
                &mut self.buffer,
                &mut left,
                reading,
                &mut None,
            );
        }
        self.bytes += room - left;
        if connection.up.bytes() + connection.down.bytes() > before {
            connection.moved = Instant::now();
        }
        connection.sniff();
        let script = match (&up, &down) {
            (Err(Broken { reading, error }), _) => Some((*reading, error)),
            (_, Err(Broken { reading, error })) => Some((!*reading, error)),
            _ => None,
        };
        if let Some((script, error)) = script {
            // A program that closes with bytes unread resets: nothing failed.
            let verdict = if script { Verdict::Allowed } else { Verdict::Failed };
            let why = broken(if script { "script's" } else { "far" }, error);
            return self.close(index, verdict, &why, hub);
        }
        if matches!(up, Ok(Moved::Over)) || matches!(down, Ok(Moved::Over)) {
            return self.over(index, hub);
        }
        if connection.up.is_done() && connection.down.is_done() {
            return self.finish(index, hub);
        }
        let more = matches!(up, Ok(Moved::More)) || matches!(down, Ok(Moved::More));
        if more && !connection.queued {
            connection.queued = true;
            self.queue.push_back(index);
        }
    }

    /// Whether there is more to carry without an event.
    pub(super) fn is_busy(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Gives each that had more its next turn.
    pub(super) fn turn(&mut self, hub: &mut Hub) {
        for _ in 0..self.queue.len() {
            let Some(index) = self.queue.pop_front() else { break };
            if let Some(connection) = self.connections.slot(index) {
                connection.queued = false;
                if matches!(connection.state, State::Open) {
                    self.carry(index, Some(Reading::ToTheEnd), Some(Reading::ToTheEnd), hub);
                }
            }
        }
    }

    /// Frees the numbers of closed connections; after all events of one wait were handled.
    pub(super) fn sweep(&mut self) {
        self.connections.sweep();
    }

    /// Whether there is a connection.
    pub(super) fn is_idle(&self) -> bool {
        self.connections.is_empty()
    }

    /// Ends what has waited for too long.
    pub(super) fn tick(&mut self, now: Instant, hub: &mut Hub) {
        let idle = Duration::from_millis(hub.rules.policy().idle_timeout_ms.value);
        for index in self.connections.numbers() {
            let Some(connection) = self.connections.slot(index) else { continue };
            match connection.state {
                State::Hello if now >= connection.deadline => {
                    self.close(index, Verdict::Refused, "no whole client hello came in time", hub);
                }
                State::Dialling { deadline } if now >= deadline => {
                    self.fall_back(index, &io::Error::from_raw_os_error(libc::ETIMEDOUT), hub);
                }
                State::Open if now.saturating_duration_since(connection.moved) >= idle => {
                    self.close(index, Verdict::Failed, "nothing moved for the idle time of the policy", hub);
                }
                _ => {}
            }
        }
    }

    /// An orderly end of both directions.
    fn finish(&mut self, index: u32, hub: &mut Hub) {
        if let Some(connection) = self.connections.take(index) {
            let why = connection.why.clone();
            hub.note(connection.entry(Verdict::Allowed, why));
        }
    }

    /// Resets both ends.
    fn close(&mut self, index: u32, verdict: Verdict, why: &str, hub: &mut Hub) {
        let Some(connection) = self.connections.take(index) else { return };
        reset(&connection.inner);
        if let Some(outer) = &connection.outer {
            reset(outer);
        }
        let why = match verdict {
            Verdict::Refused => why.to_owned(),
            Verdict::Allowed | Verdict::Failed => format!("{}; {why}", connection.why),
        };
        hub.note(connection.entry(verdict, why));
    }

    /// Whether something that the script sent is still on its way to a far end that takes it.
    pub(super) fn is_sending(&mut self) -> bool {
        self.connections.numbers().into_iter().any(|index| {
            self.connections.slot(index).is_some_and(|connection| {
                let under_way =
                    !matches!(connection.state, State::Hello) || !connection.up.waiting().is_empty();
                under_way && !connection.up.is_done()
            })
        })
    }

    /// Closes what is open at the end of the run.
    pub(super) fn end(&mut self, hub: &mut Hub) {
        for index in self.connections.numbers() {
            let sent = self.connections.slot(index).is_some_and(|c| matches!(c.state, State::Open));
            if sent {
                self.finish(index, hub);
            } else {
                self.close(index, Verdict::Failed, "the run ended", hub);
            }
        }
    }
}

impl Connection {
    fn sniff(&mut self) {
        let Some(bytes) = &self.sniffed else { return };
        let hello = hello::read(bytes);
        if hello == Hello::Incomplete && !bytes.is_empty() || bytes.is_empty() && !self.up.is_done() {
            return;
        }
        self.sniffed = None;
        let said = match hello {
            Hello::ServerName(name) => {
                let text = format!("the server name is {}", name.escape_default());
                if self.name.is_none() {
                    self.name = Name::parse(&name).ok();
                }
                text
            }
            Hello::Absent => "no server name".to_owned(),
            Hello::Incomplete => "no client hello".to_owned(),
            Hello::Other(what) => what.to_owned(),
        };
        self.why = format!("{}; {said}", self.why);
    }

    fn entry(&self, verdict: Verdict, why: String) -> Entry {
        let mut entry = Entry::new(What::Connection, "tcp", verdict, why)
            .name(self.name.as_ref().map(ToString::to_string))
            .at(self.dialled)
            .took(self.started.elapsed());
        entry.bytes_out = self.up.bytes();
        entry.bytes_in = self.down.bytes();
        entry
    }
}

fn broken(side: &str, error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::ConnectionReset || error.kind() == io::ErrorKind::BrokenPipe {
        format!("the {side} end reset it")
    } else {
        format!("the {side} end broke: {error}")
    }
}

fn refuse(inner: &TcpStream, verdict: Verdict, why: &str, hub: &mut Hub) {
    reset(inner);
    if let Ok(wanted) = inner.local_addr() {
        hub.note(Entry::new(What::Connection, "tcp", verdict, why).at(normal(wanted)));
    }
}

/// Without scope and flow, which mean nothing outside of the jail.
fn normal(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip(), address.port())
}

fn spare() -> Option<OwnedFd> {
    std::fs::File::open("/dev/null").ok().map(OwnedFd::from)
}
