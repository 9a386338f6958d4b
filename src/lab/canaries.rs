//! What the laboratory puts into its world for a jail to reach, and how it judges afterwards, by effect, whether it did.

use super::world::HOSTNAME;
use crate::sys::clone3::{Cloned, clone3};
use crate::sys::{add_key, errno, exit_group, keyctl, prctl, shm, signal, wait};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use serde::Serialize;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

/// The TCP port on 127.0.0.1 of the world.
pub const PORT: u16 = 7777;
/// The name of the abstract socket, without the leading NUL.
pub const SOCKET: &str = "skilljail-lab/canary";
/// The key of the System V segment.
pub const SHM_KEY: i32 = 0x5afe;
/// The description of the key in the session keyring.
pub const KEY: &str = "skilljail-lab:canary";
/// What the key holds.
pub const KEY_TEXT: &str = "a secret of the caller";

/// The canaries.
#[derive(Debug)]
pub struct Canaries {
    process: Pid,
    listener: TcpListener,
    socket: UnixListener,
    // An outer seccomp filter may refuse it; then no test can say anything about it.
    segment: Option<shm::Segment>,
    key: bool,
}

/// What became of them.
#[derive(Debug, Clone, Serialize)]
pub struct Judged {
    /// `alive`, or what ended it.
    pub process: String,
    /// What came to 127.0.0.1.
    pub listener: Heard,
    /// What came to the abstract socket.
    pub socket: Heard,
    /// What is in the segment; none: there could be none.
    pub segment: Option<String>,
    /// Whether there was a key.
    pub key: bool,
    /// The world's host name.
    pub hostname: String,
}

/// What a listener heard.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Heard {
    /// Connections that came.
    pub connections: u32,
    /// What they said, up to a few bytes.
    pub text: String,
}

impl Canaries {
    /// Sets them out.
    pub fn set_out() -> io::Result<Self> {
        // A number that no process of a jail's own pid namespace has, so that a kill never hits the killer.
        for _ in 0..40 {
            child(|| {}).and_then(|pid| wait::wait4(pid.as_raw()))?;
        }
        // A keyring of the world's own, so that nothing is put into the caller's.
        let key = keyctl::join_anonymous_session()
            .and_then(|()| add_key::to_session(c"skilljail-lab:canary", KEY_TEXT.as_bytes()))
            .is_ok();
        let process = child(|| {
            // Whatever the caller ignores or blocks: this process dies of what reaches it.
            let default = signal::reset_all();
            let bound = prctl::set_pdeathsig(libc::SIGKILL);
            while default.is_ok() && bound.is_ok() {
                nix::unistd::pause();
            }
        })?;
        // The kernel takes connections without our accepting them: nobody here has time before the end.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))?;
        listener.set_nonblocking(true)?;
        let socket = UnixListener::bind_addr(&SocketAddr::from_abstract_name(SOCKET)?)?;
        socket.set_nonblocking(true)?;
        Ok(Self { process, listener, socket, segment: shm::Segment::create(SHM_KEY).ok(), key })
    }

    /// What a probe must know, as environment variables.
    pub fn variables(&self) -> Vec<(String, String)> {
        let of = |name: &str, value: String| (format!("LAB_{name}"), value);
        vec![
            of("PROCESS", self.process.to_string()),
            of("PORT", PORT.to_string()),
            of("SOCKET", SOCKET.to_owned()),
            of("SHM_KEY", SHM_KEY.to_string()),
            of("KEY", KEY.to_owned()),
        ]
    }

    /// Looks what became of them.
    pub fn judge(&self) -> Judged {
        let process = match waitpid(self.process, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => "alive".to_owned(),
            Ok(WaitStatus::Signaled(_, signal, _)) => signal.to_string(),
            other => format!("{other:?}"),
        };
        let segment = self.segment.as_ref().map(|segment| match segment.read() {
            Ok(bytes) => String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned(),
            Err(error) => format!("errno {}", errno(&error)),
        });
        let hostname = nix::unistd::gethostname().unwrap_or_default();
        Judged {
            process,
            listener: heard(|| {
                let (stream, _) = self.listener.accept()?;
                stream.set_nonblocking(true).map(|()| stream)
            }),
            socket: heard(|| {
                let (stream, _) = self.socket.accept()?;
                stream.set_nonblocking(true).map(|()| stream)
            }),
            segment,
            key: self.key,
            hostname: hostname.to_string_lossy().into_owned(),
        }
    }
}

impl Judged {
    /// Whether nothing happened to any of them.
    pub fn untouched(&self) -> bool {
        self.process == "alive"
            && self.listener.connections == 0
            && self.socket.connections == 0
            && self.segment.as_deref().is_none_or(str::is_empty)
            && self.hostname == HOSTNAME
    }
}

fn child(run: impl FnOnce()) -> io::Result<Pid> {
    match clone3(0, None)? {
        Cloned::Parent { pid, .. } => Ok(Pid::from_raw(pid)),
        Cloned::Child => {
            run();
            exit_group::exit_now(0)
        }
    }
}

/// Takes what waits. Nothing here waits: who could speak is dead or done by now.
fn heard<S: Read>(accept: impl Fn() -> io::Result<S>) -> Heard {
    let mut heard = Heard::default();
    while let Ok(stream) = accept() {
        heard.connections += 1;
        // An error after some bytes is a connection that was reset: what came before it counts.
        drop(stream.take(64).read_to_string(&mut heard.text));
    }
    heard
}
