//! Canaries that live: a process, listeners, a System V segment, a key. Set out by the harness on the host, or by the
//! laboratory in its world.

use super::outside::token;
use crate::sys::{add_key, keyctl, shm};
use std::ffi::CString;
use std::fs;
use std::io::{self, Read, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A number below this may be one of a process in a jail, too.
const LOWEST_PID: u32 = 60;

/// A key in a session keyring that the jail's supervisor inherits.
#[derive(Debug, Clone)]
pub struct Key {
    description: String,
    text: String,
}

impl Key {
    /// Gives the calling thread, and who it starts, a session keyring with one key. `None`: the host refuses keyrings.
    pub fn set_out() -> Option<Self> {
        let (description, text) = (token().ok()?, token().ok()?);
        let name = CString::new(description.as_str()).ok()?;
        keyctl::join_anonymous_session().and_then(|()| add_key::to_session(&name, text.as_bytes())).ok()?;
        Some(Self { description, text })
    }
}

/// They.
#[derive(Debug)]
pub struct Live {
    process: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    abstract_name: String,
    abstract_socket: UnixListener,
    socket_path: PathBuf,
    socket: UnixListener,
    datagram_name: String,
    datagrams: [UnixDatagram; 2],
    segment: Option<(i32, shm::Segment)>,
    key: Option<Key>,
    process_secret: String,
}

fn sleeper(secret: &str, own_group: bool) -> io::Result<Child> {
    // It lives as long as we do, who hold the other end of its stdin.
    let mut command = Command::new("cat");
    command.env_clear().env("PATH", "/usr/bin:/bin").env("SECRET", secret);
    if own_group {
        command.process_group(0);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

impl Live {
    /// Sets them out. The sockets with a path are made in `outside`; the process has a group of its own, which the
    /// attacked run joins, or is in ours.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_out(outside: &Path, key: Option<Key>, own_group: bool) -> io::Result<Self> {
        let process_secret = token()?;
        let mut process = sleeper(&process_secret, own_group)?;
        while process.id() < LOWEST_PID {
            end(&mut process);
            process = sleeper(&process_secret, own_group)?;
        }
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        tcp.set_nonblocking(true)?;
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        udp.set_nonblocking(true)?;
        let abstract_name = format!("skilljail-attack/{}", token()?);
        let abstract_socket = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&abstract_name)?)?;
        abstract_socket.set_nonblocking(true)?;
        let socket_path = outside.join("socket");
        let socket = UnixListener::bind(&socket_path)?;
        fs::set_permissions(&socket_path, fs::Permissions::from_mode(0o777))?;
        socket.set_nonblocking(true)?;
        let datagram_name = format!("skilljail-attack/{}", token()?);
        let path = outside.join("datagrams");
        let datagrams = [
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&datagram_name)?)?,
            UnixDatagram::bind(&path)?,
        ];
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777))?;
        for socket in &datagrams {
            socket.set_nonblocking(true)?;
        }
        Ok(Self {
            process,
            tcp,
            udp,
            abstract_name,
            abstract_socket,
            socket_path,
            socket,
            datagram_name,
            datagrams,
            segment: segment(),
            key,
            process_secret,
        })
    }

    /// The process group of the canary process.
    pub fn group(&self) -> i32 {
        i32::try_from(self.process.id()).unwrap_or(0)
    }

    /// What an attack must know to reach them.
    ///
    /// # Errors
    /// A listener is gone.
    pub fn variables(&self) -> io::Result<Vec<(String, String)>> {
        let of = |name: &str, value: String| (format!("CANARY_{name}"), value);
        let mut variables = vec![
            of("HOST", nix::unistd::gethostname()?.to_string_lossy().into_owned()),
            of("PORT", self.tcp.local_addr()?.port().to_string()),
            of("UDP", self.udp.local_addr()?.port().to_string()),
            of("ABSTRACT", self.abstract_name.clone()),
            of("DATAGRAM", self.datagram_name.clone()),
            of("PROCESS", self.process.id().to_string()),
        ];
        if let Some((key, _)) = &self.segment {
            variables.push(of("SEGMENT", key.to_string()));
        }
        if let Some(key) = &self.key {
            variables.push(of("KEY", key.description.clone()));
        }
        Ok(variables)
    }

    /// What must never be seen in anything that comes out of a jail, with its name.
    pub fn secrets(&self) -> Vec<(String, String)> {
        let mut secrets = vec![("the environment of a process".to_owned(), self.process_secret.clone())];
        if let Some(key) = &self.key {
            secrets.push(("a key of the caller's".to_owned(), key.text.clone()));
        }
        secrets
    }

    /// What happened to them.
    pub fn touched(&mut self) -> Vec<String> {
        let mut touched = Vec::new();
        match self.process.try_wait() {
            Ok(None) => {
                if let Some(state) = state(self.process.id()).filter(|state| !"SRD".contains(*state)) {
                    touched.push(format!("the process is in state {state}"));
                }
            }
            Ok(Some(status)) => touched.push(format!("the process ended: {status}")),
            Err(error) => touched.push(format!("the process is lost: {error}")),
        }
        let mut heard = |who: &str, text: Option<String>| {
            touched.extend(text.map(|text| format!("{who} heard {text:?}")));
        };
        heard("a TCP listener", heard_by(|| self.tcp.accept().map(|(s, _)| (s.set_nonblocking(true), s))));
        heard(
            "an abstract socket",
            heard_by(|| self.abstract_socket.accept().map(|(s, _)| (s.set_nonblocking(true), s))),
        );
        heard(
            "a socket with a path",
            heard_by(|| self.socket.accept().map(|(s, _)| (s.set_nonblocking(true), s))),
        );
        let mut bytes = [0u8; 64];
        let datagram = self.udp.recv_from(&mut bytes).ok();
        let text = |n: usize| String::from_utf8_lossy(bytes.get(..n).unwrap_or_default()).into_owned();
        heard("a UDP socket", datagram.map(|(n, _)| text(n)));
        for socket in &self.datagrams {
            let datagram = socket.recv(&mut bytes).ok();
            let text = |n: usize| String::from_utf8_lossy(bytes.get(..n).unwrap_or_default()).into_owned();
            heard("a datagram socket", datagram.map(text));
        }
        if let Some((_, segment)) = &self.segment {
            match segment.read() {
                Ok(bytes) if bytes.iter().all(|byte| *byte == 0) => {}
                Ok(_) => touched.push("a System V segment was written".to_owned()),
                Err(error) => touched.push(format!("a System V segment is gone: {error}")),
            }
        }
        touched
    }

    /// Which of them could not have told anything: each is reached by us. Spoils what [`Self::touched`] looks at.
    pub fn dead(&mut self) -> Vec<String> {
        let mut dead = Vec::new();
        let mut check = |what: &str, alive: bool| {
            if !alive {
                dead.push(what.to_owned());
            }
        };
        let said = |mut stream: TcpStream| stream.write_all(b"alive");
        let tcp = self.tcp.local_addr().and_then(TcpStream::connect).and_then(said);
        check("a TCP listener", tcp.is_ok() && self.tcp.accept().is_ok());
        let to = |address: SocketAddr| UnixStream::connect_addr(&address);
        let reached = SocketAddr::from_abstract_name(&self.abstract_name).and_then(to);
        check("an abstract socket", reached.is_ok() && self.abstract_socket.accept().is_ok());
        let reached = UnixStream::connect(&self.socket_path);
        check("a socket with a path", reached.is_ok() && self.socket.accept().is_ok());
        let sent = self
            .udp
            .local_addr()
            .and_then(|to| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.send_to(b"alive", to));
        let mut bytes = [0u8; 8];
        check("a UDP socket", sent.is_ok() && self.udp.recv_from(&mut bytes).is_ok());
        let reached = SocketAddr::from_abstract_name(&self.datagram_name)
            .and_then(|to| UnixDatagram::unbound()?.send_to_addr(b"alive", &to));
        check(
            "a datagram socket",
            reached.is_ok() && self.datagrams.iter().any(|s| s.recv(&mut bytes).is_ok()),
        );
        check("a process", matches!(self.process.try_wait(), Ok(None)));
        check("a System V segment", self.segment.as_ref().is_none_or(|(_, segment)| segment.read().is_ok()));
        dead
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        end(&mut self.process);
        // Nobody else makes this path; the directory goes with it in any case.
        drop(fs::remove_file(&self.socket_path));
    }
}

fn end(process: &mut Child) {
    // A process that an attack stopped takes SIGKILL all the same; one that is gone already is what we want.
    drop(process.kill());
    drop(process.wait());
}

fn segment() -> Option<(i32, shm::Segment)> {
    // A few tries: the numbers belong to everybody.
    (0..8).find_map(|_| {
        let word = token().ok()?;
        let key = i32::from_str_radix(word.get(7..14)?, 16).ok()?;
        // An outer filter may refuse it; then no attack can reach one either.
        shm::Segment::create(key).ok().map(|segment| (key, segment))
    })
}

/// `/proc/PID/stat`'s third word; none where there is no /proc to say it.
fn state(pid: u32) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.trim_start().chars().next()
}

/// Takes what waits; who could speak is dead or done by now, so nothing here waits.
fn heard_by<S: Read>(accept: impl Fn() -> io::Result<(io::Result<()>, S)>) -> Option<String> {
    let (ready, stream) = accept().ok()?;
    let mut text = String::new();
    if ready.is_ok() {
        // An error after some bytes is a connection that was reset: what came before it counts.
        drop(stream.take(64).read_to_string(&mut text));
    }
    Some(text)
}
