//! The stub resolver on 127.0.0.53 of the jail: datagrams and TCP, allowed names only, every answer filtered and pinned.

use super::dns::{self, Asked, Question, Reply};
use super::hub::{Hub, Slots, Token};
use super::log::Verdict;
use super::upstream::{Done, Lookup, Servers};
use crate::policy::egress::Name;
use nix::sys::epoll::EpollFlags;
use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// The longest question that is read.
const MAX_QUESTION: usize = 4_096;
/// TCP connections to the stub at once.
const MAX_QUERIES: usize = 32;
/// Lookups under way at once.
const MAX_LOOKUPS: usize = 256;
/// Datagrams read in one turn.
const TURN: usize = 64;
/// How long an answer is answered again from memory, at most.
const MAX_TTL: u32 = 300;
/// How long a TCP connection to the stub may be silent.
const QUERY_IDLE: Duration = Duration::from_secs(30);

/// Who asked.
#[derive(Debug, Clone, Copy)]
enum Client {
    Datagram(SocketAddr),
    Query(u32),
}

#[derive(Debug)]
struct Query {
    stream: TcpStream,
    input: Vec<u8>,
    output: Vec<u8>,
    moved: Instant,
}

#[derive(Debug)]
struct Pending {
    client: Client,
    question: Question,
    name: Name,
    lookup: Lookup,
}

#[derive(Debug)]
struct Known {
    until: Instant,
    answer: Result<Vec<IpAddr>, Negative>,
}

#[derive(Debug, Clone, Copy)]
enum Negative {
    NoName,
    Refused,
}

/// The stub.
#[derive(Debug)]
pub(super) struct Stub {
    datagrams: UdpSocket,
    listener: TcpListener,
    queries: Slots<Query>,
    pending: Slots<Pending>,
    known: HashMap<(Name, bool), Known>,
    servers: Servers,
    lookups: u64,
    v6: bool,
}

impl Stub {
    /// Serves these sockets; `v6`: whether the jail has IPv6 at all.
    pub(super) fn new(
        datagrams: UdpSocket,
        listener: TcpListener,
        servers: Servers,
        v6: bool,
        hub: &Hub,
    ) -> io::Result<Self> {
        datagrams.set_nonblocking(true)?;
        listener.set_nonblocking(true)?;
        hub.watch(&datagrams, Token::Datagrams, EpollFlags::EPOLLIN)?;
        hub.watch(&listener, Token::Queries, EpollFlags::EPOLLIN)?;
        Ok(Self {
            datagrams,
            listener,
            queries: Slots::default(),
            pending: Slots::default(),
            known: HashMap::new(),
            servers,
            lookups: 0,
            v6,
        })
    }

    /// Reads the datagrams that are there.
    pub(super) fn datagrams(&mut self, hub: &mut Hub) {
        let mut buffer = [0; MAX_QUESTION];
        for _ in 0..TURN {
            let Ok((count, from)) = self.datagrams.recv_from(&mut buffer) else { return };
            self.asked(Client::Datagram(from), buffer.get(..count).unwrap_or_default(), hub);
        }
    }

    /// Accepts a TCP connection.
    pub(super) fn accept(&mut self, hub: &mut Hub) {
        let Ok((stream, _)) = self.listener.accept() else { return };
        if self.queries.len() >= MAX_QUERIES || stream.set_nonblocking(true).is_err() {
            return;
        }
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        let index = self.queries.next();
        if hub.watch(&stream, Token::Query(index), flags).is_ok() {
            let moved = Instant::now();
            self.queries.insert(Query { stream, input: Vec::new(), output: Vec::new(), moved });
        }
    }

    /// An event of a TCP connection: questions behind their length, one after the other.
    pub(super) fn query(&mut self, index: u32, hub: &mut Hub) {
        let mut questions = Vec::new();
        let Some(query) = self.queries.slot(index) else { return };
        let ended = loop {
            let mut buffer = [0; MAX_QUESTION];
            match query.stream.read(&mut buffer) {
                Ok(0) => break true,
                Ok(count) => query.input.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break false,
                Err(_) => break true,
            }
            while let Some(high_low) = query.input.first_chunk::<2>() {
                let length = usize::from(u16::from_be_bytes(*high_low));
                let Some(question) = query.input.get(2..2 + length) else { break };
                questions.push(question.to_vec());
                query.input.drain(..2 + length);
            }
            if query.input.len() > MAX_QUESTION || questions.len() > TURN {
                break true;
            }
        };
        query.moved = Instant::now();
        for question in questions {
            self.asked(Client::Query(index), &question, hub);
        }
        self.flush(index);
        if ended {
            self.queries.take(index);
        }
    }

    fn flush(&mut self, index: u32) {
        let Some(query) = self.queries.slot(index) else { return };
        while !query.output.is_empty() {
            match query.stream.write(&query.output) {
                Ok(count) => drop(query.output.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.queries.take(index);
                    return;
                }
            }
        }
    }

    fn send(&mut self, client: Client, bytes: &[u8]) {
        match client {
            // A client that is gone or does not read asks again.
            Client::Datagram(to) => drop(self.datagrams.send_to(bytes, to)),
            Client::Query(index) => {
                let Some(query) = self.queries.slot(index) else { return };
                // Who asks and never reads is not answered for ever.
                if query.output.len() < 1 << 20 {
                    query.output.extend(u16::try_from(bytes.len()).unwrap_or(0).to_be_bytes());
                    query.output.extend_from_slice(bytes);
                }
                self.flush(index);
            }
        }
    }

    fn answer(&mut self, client: Client, question: &Question, reply: &Reply<'_>) {
        let limit = match client {
            Client::Datagram(_) => question.limit,
            Client::Query(_) => usize::from(u16::MAX),
        };
        if let Some(bytes) = dns::reply(question, reply, limit) {
            self.send(client, &bytes);
        }
    }

    fn asked(&mut self, client: Client, bytes: &[u8], hub: &mut Hub) {
        let question = match dns::question(bytes) {
            Ok(question) => question,
            Err(error) => {
                hub.note(Hub::lookup(Verdict::Refused, "", "no question of DNS"));
                if let Some(error) = error {
                    self.send(client, &error);
                }
                return;
            }
        };
        let allowed = match &question.name {
            Ok(name) => hub.rules.lookup(name).map(|()| name.clone()),
            Err(why) => Err((*why).to_owned()),
        };
        let v6 = match (allowed, question.asked) {
            (Err(why), Asked::Txt) => {
                let text = format!("refused by the policy {}: {why}", hub.policy);
                return self.answer(client, &question, &Reply::Text(&text));
            }
            (Err(why), _) => {
                hub.note(Hub::lookup(Verdict::Refused, &question.shown, why));
                return self.answer(client, &question, &Reply::Refused);
            }
            (Ok(_), Asked::Txt) if self.refusal(&question, hub).is_some() => {
                let text = self.refusal(&question, hub).unwrap_or_default();
                return self.answer(client, &question, &Reply::Text(&text));
            }
            (Ok(_), Asked::Txt | Asked::Other(_)) => {
                let why = "only addresses (A, AAAA) are looked up";
                hub.note(Hub::lookup(Verdict::Refused, &question.shown, why));
                return self.answer(client, &question, &Reply::Refused);
            }
            (Ok(name), asked) => (name, asked == Asked::Aaaa),
        };
        let (name, v6) = v6;
        self.look_up(client, question, name, v6, hub);
    }

    /// Why the addresses of an allowed name were refused, for its TXT record.
    fn refusal(&self, question: &Question, hub: &Hub) -> Option<String> {
        let name = question.name.as_ref().ok()?;
        let why = self.refused_why(name)?;
        Some(format!("refused by the policy {}: {why}", hub.policy))
    }

    fn refused_why(&self, name: &Name) -> Option<&'static str> {
        let refused = |v6| {
            let known = self.known.get(&(name.clone(), v6));
            known.is_some_and(|known| matches!(known.answer, Err(Negative::Refused)))
        };
        (refused(false) || refused(true)).then_some("its addresses are not public")
    }

    fn look_up(&mut self, client: Client, question: Question, name: Name, v6: bool, hub: &mut Hub) {
        // No address of this kind can be connected to: programs need not try and wait.
        if v6 && !self.v6 {
            return self.answer(client, &question, &Reply::Addresses(&[], 0));
        }
        let now = Instant::now();
        if let Some(known) = self.known.get(&(name.clone(), v6)).filter(|known| now < known.until) {
            let left = u32::try_from(known.until.saturating_duration_since(now).as_secs()).unwrap_or(0);
            match known.answer.clone() {
                Ok(addresses) => return self.answer(client, &question, &Reply::Addresses(&addresses, left)),
                Err(Negative::NoName) => return self.answer(client, &question, &Reply::NoName),
                Err(Negative::Refused) => return self.answer(client, &question, &Reply::Refused),
            }
        }
        self.lookups += 1;
        let over = if self.lookups > hub.rules.policy().max_lookups.value {
            hub.reached.lookups = true;
            Some("more lookups than the policy allows a run")
        } else if self.pending.len() >= MAX_LOOKUPS {
            Some("too many lookups at once")
        } else {
            None
        };
        if let Some(why) = over {
            hub.note(Hub::lookup(Verdict::Refused, name.as_str(), why));
            return self.answer(client, &question, &Reply::Refused);
        }
        let wait = Duration::from_millis(hub.rules.policy().dns_timeout_ms.value);
        let index = self.pending.next();
        let mut lookup = Lookup::new(name.as_str(), v6, wait);
        let done = lookup.start(&self.servers, index, hub);
        self.pending.insert(Pending { client, question, name, lookup });
        if let Some(done) = done {
            self.done(index, done, hub);
        }
    }

    /// An event of a question to the host's resolver.
    pub(super) fn lookup(&mut self, index: u32, hub: &mut Hub) {
        let Some(pending) = self.pending.slot(index) else { return };
        if let Some(done) = pending.lookup.event(&self.servers, index, hub) {
            self.done(index, done, hub);
        }
    }

    fn done(&mut self, index: u32, done: Done, hub: &mut Hub) {
        let Some(Pending { client, question, name, lookup }) = self.pending.take(index) else { return };
        let took = lookup.started().elapsed();
        let family = if lookup.v6() { "AAAA" } else { "A" };
        let note = |hub: &mut Hub, verdict, why: String| {
            hub.note(Hub::lookup(verdict, name.as_str(), format!("{family}: {why}")).took(took));
        };
        let (reply, known, ttl) = match done {
            Done::Addresses(addresses, ttl) => {
                let mut good = Vec::new();
                let mut bad = false;
                for address in addresses {
                    match hub.reachable(address) {
                        Ok(()) => good.push(address),
                        Err(why) => {
                            bad = true;
                            note(hub, Verdict::Refused, format!("{address} is {why}"));
                        }
                    }
                }
                if good.is_empty() && bad && !lookup.v6() {
                    (Reply::Refused, Some(Err(Negative::Refused)), 1)
                } else {
                    for address in &good {
                        hub.rules.pin(&name, *address);
                    }
                    if !good.is_empty() {
                        let list = good.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                        let mut entry = Hub::lookup(Verdict::Allowed, name.as_str(), family).took(took);
                        entry.address = Some(list);
                        hub.note(entry);
                    }
                    self.remember(&name, lookup.v6(), Ok(good.clone()), ttl);
                    return self.answer(client, &question, &Reply::Addresses(&good, ttl.min(MAX_TTL)));
                }
            }
            Done::Nothing => {
                note(hub, Verdict::Allowed, "the name has no address of this kind".to_owned());
                (Reply::Addresses(&[], 0), Some(Ok(Vec::new())), 5)
            }
            Done::NoName => {
                note(hub, Verdict::Failed, "there is no such name".to_owned());
                (Reply::NoName, Some(Err(Negative::NoName)), 5)
            }
            Done::Refused(why) => {
                note(hub, Verdict::Refused, why);
                (Reply::Refused, Some(Err(Negative::Refused)), 1)
            }
            Done::Failed(why) => {
                note(hub, Verdict::Failed, why);
                (Reply::Failed, None, 0)
            }
        };
        if let Some(known) = known {
            self.remember(&name, lookup.v6(), known, ttl);
        }
        self.answer(client, &question, &reply);
    }

    fn remember(&mut self, name: &Name, v6: bool, answer: Result<Vec<IpAddr>, Negative>, ttl: u32) {
        let until = Instant::now() + Duration::from_secs(ttl.min(MAX_TTL).into());
        self.known.insert((name.clone(), v6), Known { until, answer });
    }

    /// Ends what has waited for too long, asks again where there is another try.
    pub(super) fn tick(&mut self, now: Instant, hub: &mut Hub) {
        for index in self.pending.numbers() {
            let Some(pending) = self.pending.slot(index) else { continue };
            if let Some(done) = pending.lookup.tick(now, &self.servers, index, hub) {
                self.done(index, done, hub);
            }
        }
        for index in self.queries.numbers() {
            let Some(query) = self.queries.slot(index) else { continue };
            if now.saturating_duration_since(query.moved) > QUERY_IDLE {
                self.queries.take(index);
            }
        }
    }

    /// Writes down what is still under way at the end of the run: the question has left.
    pub(super) fn end(&mut self, hub: &mut Hub) {
        for index in self.pending.numbers() {
            let Some(Pending { name, lookup, .. }) = self.pending.take(index) else { continue };
            let family = if lookup.v6() { "AAAA" } else { "A" };
            let why = format!("{family}: the run ended before the answer came");
            hub.note(Hub::lookup(Verdict::Failed, name.as_str(), why).took(lookup.started().elapsed()));
        }
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.queries.is_empty()
    }

    /// Frees numbers, see [`Slots::sweep`].
    pub(super) fn sweep(&mut self) {
        self.pending.sweep();
        self.queries.sweep();
    }
}
