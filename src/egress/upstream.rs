//! Questions to the host's resolvers, by our own sockets: a static binary has no NSS, and a thread or a runtime for a few
//! datagrams would be more than they are.

use super::address;
use super::dns::{self, Answer};
use super::hub::{Hub, Token};
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, SockaddrStorage};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, TcpStream, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Servers of a resolv.conf that are asked (resolv.conf(5) has the same bound).
const MAX_SERVERS: usize = 3;
const RESOLV_CONF: &str = "/etc/resolv.conf";
/// A resolv.conf is at most this large.
const MAX_CONF: u64 = 64 << 10;
/// One try.
const TRY: Duration = Duration::from_secs(2);
/// Tries of one name in all, so that a resolver that answers rubbish ends too.
const MAX_TRIES: u32 = 8;

/// The resolvers.
#[derive(Debug)]
pub(super) struct Servers {
    list: Vec<SocketAddr>,
    random: File,
}

impl Servers {
    /// Those of the policy, or the host's own.
    pub(super) fn new(named: &[SocketAddr]) -> io::Result<Self> {
        let mut list = named.to_vec();
        if list.is_empty() {
            list = nameservers(&resolv_conf(Path::new(RESOLV_CONF))?);
        }
        Ok(Self { list, random: File::open("/dev/urandom")? })
    }

    fn id(&self) -> io::Result<u16> {
        let mut bytes = [0; 2];
        (&self.random).read_exact(&mut bytes)?;
        Ok(u16::from_ne_bytes(bytes))
    }
}

/// The host's resolv.conf; empty where there is none, which means a resolver on this host (resolv.conf(5)).
fn resolv_conf(path: &Path) -> io::Result<String> {
    let wrong = |why: String| io::Error::other(format!("{}: {why}", path.display()));
    // Not waiting for a writer where it is a fifo.
    let file = match File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(wrong(error.to_string())),
    };
    if !file.metadata().map_err(|error| wrong(error.to_string()))?.is_file() {
        return Err(wrong("no regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_CONF + 1).read_to_end(&mut bytes).map_err(|error| wrong(error.to_string()))?;
    if bytes.len() as u64 > MAX_CONF {
        return Err(wrong(format!("more than {MAX_CONF} bytes")));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The servers that a resolv.conf names.
fn nameservers(text: &str) -> Vec<SocketAddr> {
    let named = text.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next() == Some("nameserver")).then(|| words.next()).flatten()
    });
    let list: Vec<_> = named.filter_map(server).take(MAX_SERVERS).collect();
    if list.is_empty() { vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 53))] } else { list }
}

/// An address; the scope of a link-local one names an interface, by its name or number. `None` for what cannot be asked, which
/// is passed over as the C library does.
fn server(word: &str) -> Option<SocketAddr> {
    let Some((address, scope)) = word.split_once('%') else {
        return Some(SocketAddr::new(word.parse().ok()?, 53));
    };
    let scope = scope.parse().ok().or_else(|| nix::net::if_::if_nametoindex(scope).ok())?;
    Some(SocketAddr::V6(SocketAddrV6::new(address.parse().ok()?, 53, 0, scope)))
}

/// How a lookup ended.
#[derive(Debug)]
pub(super) enum Done {
    /// These addresses, not judged yet, for so many seconds.
    Addresses(Vec<IpAddr>, u32),
    /// None of this kind.
    Nothing,
    /// No such name.
    NoName,
    /// An alias leads inside.
    Refused(String),
    /// No answer, or no good one.
    Failed(String),
}

#[derive(Debug)]
enum Transport {
    Datagram(UdpSocket),
    Stream { stream: TcpStream, output: Vec<u8>, input: Vec<u8> },
}

/// One name being looked up.
#[derive(Debug)]
pub(super) struct Lookup {
    // The name that is asked for now: the last alias.
    name: String,
    v6: bool,
    hops: usize,
    tries: u32,
    id: u16,
    transport: Option<Transport>,
    started: Instant,
    // The smallest of the chain's.
    ttl: u32,
    again: Instant,
    deadline: Instant,
}

const BOTH: EpollFlags =
    EpollFlags::EPOLLIN.union(EpollFlags::EPOLLOUT).union(EpollFlags::EPOLLRDHUP).union(EpollFlags::EPOLLET);

impl Lookup {
    /// A lookup that has not started.
    pub(super) fn new(name: &str, v6: bool, wait: Duration) -> Self {
        let now = Instant::now();
        Self {
            name: name.to_owned(),
            v6,
            hops: 0,
            tries: 0,
            id: 0,
            transport: None,
            started: now,
            ttl: u32::MAX,
            again: now + TRY.min(wait / 2),
            deadline: now + wait,
        }
    }

    /// When it started.
    pub(super) fn started(&self) -> Instant {
        self.started
    }

    /// Whether IPv6 addresses are asked for.
    pub(super) fn v6(&self) -> bool {
        self.v6
    }

    /// Asks the next server.
    pub(super) fn start(&mut self, servers: &Servers, index: u32, hub: &Hub) -> Option<Done> {
        match self.ask(servers, index, hub, false) {
            Ok(()) => None,
            // That one cannot be asked; the next may be.
            Err(error) => self.again(&self.says(servers, &error), servers, index, hub),
        }
    }

    fn server(&self, servers: &Servers) -> Option<SocketAddr> {
        let which = (self.tries as usize).saturating_sub(1) % servers.list.len().max(1);
        servers.list.get(which).copied()
    }

    fn says(&self, servers: &Servers, what: &dyn std::fmt::Display) -> String {
        self.server(servers)
            .map_or_else(|| what.to_string(), |server| format!("the resolver {server}: {what}"))
    }

    fn ask(&mut self, servers: &Servers, index: u32, hub: &Hub, by_tcp: bool) -> io::Result<()> {
        // By TCP the server that sent a cut answer is asked again.
        if !by_tcp {
            self.tries += 1;
        }
        let server = self.server(servers).ok_or(io::ErrorKind::NotFound)?;
        self.id = servers.id()?;
        let message = dns::query(self.id, &self.name, self.v6).ok_or(io::ErrorKind::InvalidInput)?;
        if by_tcp {
            let stream = stream(server)?;
            hub.watch(&stream, Token::Lookup(index), BOTH)?;
            let length = u16::try_from(message.len()).unwrap_or(0).to_be_bytes();
            let output = [&length[..], &message].concat();
            self.transport = Some(Transport::Stream { stream, output, input: Vec::new() });
            return Ok(());
        }
        let any: IpAddr = match server {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, 0))?;
        socket.set_nonblocking(true)?;
        // Connected: answers of anybody else do not arrive.
        socket.connect(server)?;
        hub.watch(&socket, Token::Lookup(index), EpollFlags::EPOLLIN)?;
        socket.send(&message)?;
        self.transport = Some(Transport::Datagram(socket));
        Ok(())
    }

    /// An event of the socket.
    pub(super) fn event(&mut self, servers: &Servers, index: u32, hub: &Hub) -> Option<Done> {
        let (id, name, v6) = (self.id, self.name.clone(), self.v6);
        let answer = match self.transport.as_mut()? {
            Transport::Datagram(socket) => {
                let mut buffer = [0; 4_096];
                loop {
                    match socket.recv(&mut buffer) {
                        Ok(count) => {
                            let bytes = buffer.get(..count).unwrap_or_default();
                            // One with another id or question is somebody's guess.
                            if let Some(answer) = dns::answer(bytes, id, &name, v6) {
                                break Ok(answer);
                            }
                        }
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                        Err(error) => break Err(error),
                    }
                }
            }
            Transport::Stream { stream, output, input } => match exchange(stream, output, input) {
                Ok(None) => return None,
                Ok(Some(message)) => {
                    dns::answer(&message, id, &name, v6).ok_or_else(|| io::ErrorKind::InvalidData.into())
                }
                Err(error) => Err(error),
            },
        };
        match answer {
            Ok(answer) => self.answered(answer, servers, index, hub),
            Err(error) => self.again(&self.says(servers, &error), servers, index, hub),
        }
    }

    fn answered(&mut self, answer: Answer, servers: &Servers, index: u32, hub: &Hub) -> Option<Done> {
        match answer {
            Answer::Addresses(addresses, ttl) => Some(Done::Addresses(addresses, ttl.min(self.ttl))),
            Answer::Nothing => Some(Done::Nothing),
            Answer::NoName => Some(Done::NoName),
            Answer::Truncated => match self.ask(servers, index, hub, true) {
                Ok(()) => None,
                Err(error) => {
                    let why = self.says(servers, &format!("by TCP: {error}"));
                    self.again(&why, servers, index, hub)
                }
            },
            Answer::Failed(why) => self.again(&self.says(servers, &why), servers, index, hub),
            Answer::Alias(name) => {
                self.hops += 1;
                if let Some(what) = address::special_name(&name) {
                    return Some(Done::Refused(format!("an alias to {name}, no public name: {what}")));
                }
                if self.hops > dns::MAX_HOPS {
                    return Some(Done::Failed("a chain of aliases that does not end".to_owned()));
                }
                self.name = name;
                self.start(servers, index, hub)
            }
        }
    }

    fn again(&mut self, why: &str, servers: &Servers, index: u32, hub: &Hub) -> Option<Done> {
        self.transport = None;
        // Each server twice.
        if self.tries >= MAX_TRIES.min(2 * u32::try_from(servers.list.len()).unwrap_or(1)) {
            return Some(Done::Failed(why.to_owned()));
        }
        self.again = Instant::now() + TRY;
        self.start(servers, index, hub)
    }

    /// Whether it has waited for too long.
    pub(super) fn tick(&mut self, now: Instant, servers: &Servers, index: u32, hub: &Hub) -> Option<Done> {
        if now >= self.deadline {
            return Some(Done::Failed(self.says(servers, &"no answer in time")));
        }
        if now >= self.again {
            self.again(&self.says(servers, &"no answer in time"), servers, index, hub)
        } else {
            None
        }
    }
}

fn stream(server: SocketAddr) -> io::Result<TcpStream> {
    let family = if server.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket::socket(family, SockType::Stream, flags, None)?;
    match socket::connect(socket.as_raw_fd(), &SockaddrStorage::from(server)) {
        Ok(()) | Err(nix::Error::EINPROGRESS) => Ok(TcpStream::from(socket)),
        Err(errno) => Err(errno.into()),
    }
}

/// Writes what is left of the question and reads the answer; `None` while it is not whole.
fn exchange(
    stream: &mut TcpStream,
    output: &mut Vec<u8>,
    input: &mut Vec<u8>,
) -> io::Result<Option<Vec<u8>>> {
    while !output.is_empty() {
        match stream.write(output) {
            Ok(count) => drop(output.drain(..count)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
    }
    let mut buffer = [0; 4_096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => input.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
        if let Some(high_low) = input.first_chunk::<2>() {
            let length = usize::from(u16::from_be_bytes(*high_low));
            if let Some(message) = input.get(2..2 + length) {
                return Ok(Some(message.to_vec()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{nameservers, resolv_conf};

    #[test]
    fn a_resolv_conf_that_is_none_is_told_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("resolv.conf");
        assert_eq!(resolv_conf(&path).unwrap(), "");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(resolv_conf(&path).unwrap_err().to_string().contains("no regular file"));
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, vec![b'#'; 70_000]).unwrap();
        assert!(resolv_conf(&path).unwrap_err().to_string().contains("more than 65536 bytes"));
        std::fs::write(&path, "nameserver 9.9.9.9\n").unwrap();
        assert_eq!(nameservers(&resolv_conf(&path).unwrap()).len(), 1);
    }

    #[test]
    fn a_resolv_conf_names_at_most_three_servers() {
        let text = "# x\nsearch a.b\nnameserver 10.0.0.2\nnameserver fe80::1%lo\nnameserver fe80::2%no-such-interface\n nameserver 2001:db8::1 \nnameserver 1.1.1.1\nnameserver\nnameserver x\n";
        let list: Vec<_> = nameservers(text).iter().map(ToString::to_string).collect();
        assert_eq!(list, ["10.0.0.2:53", "[fe80::1%1]:53", "[2001:db8::1]:53"]);
        assert_eq!(nameservers("").len(), 1);
    }
}
