//! The child's straight line, from clone to exec. Every error goes to the supervisor with its layer and step.

use super::channel;
use super::init;
use crate::layer::fds::{CHANNEL_FD, SECRETS_FD};
use crate::layer::{self, ApplyError, Facts, Layer, Link, NetFacts};
use crate::payload;
use crate::sys::clone3::{Cloned, clone3};
use crate::sys::exit_group::exit_now;
use crate::sys::{errno, fd, prctl};
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use std::io;
use std::os::fd::AsRawFd as _;

/// At most this much comes by the secrets' pipe (a pipe's capacity, so that the supervisor never waits).
pub const MAX_SECRETS_BYTES: usize = 64 << 10;

struct Line<'a> {
    prepared: &'a layer::Prepared,
}

impl Link for Line<'_> {
    fn wait_go(&mut self) -> io::Result<()> {
        channel::wait_go(CHANNEL_FD)
    }

    fn peer_is_gone(&self) -> bool {
        fd::peer_is_gone(CHANNEL_FD)
    }

    fn hand_over(&mut self, sockets: &[i32], facts: NetFacts) -> io::Result<()> {
        channel::send_net(CHANNEL_FD, sockets, facts)
    }

    fn fork(&mut self, facts: Facts) -> Result<(), ApplyError> {
        let failed = |step| move |error: io::Error| ApplyError { layer: "init", step, errno: errno(&error) };
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let workdir = open("/workdir", flags, Mode::empty())
            .map_err(io::Error::from)
            .map_err(failed("open /workdir"))?;
        match clone3(0, None).map_err(failed("clone3 (init)"))? {
            Cloned::Child => {
                drop(workdir);
                // A change of uid cleared it, and the supervisor needs it to take the listener (pidfd_getfd).
                prctl::set_dumpable(true).map_err(failed("prctl(PR_SET_DUMPABLE)"))
            }
            Cloned::Parent { pid, pidfd } => {
                channel::send_born(CHANNEL_FD, pidfd.as_raw_fd(), workdir.as_raw_fd(), facts)
                    .map_err(failed("send the payload's pidfd"))?;
                init::run(self.prepared, pid)
            }
        }
    }

    fn offer_listener(&mut self, listener: Option<i32>) -> io::Result<()> {
        channel::send_sealed(CHANNEL_FD, listener)?;
        channel::wait_go(CHANNEL_FD)
    }
}

/// Runs the child. Never returns: it becomes the payload or init, or tells why not and leaves.
pub fn run(prepared: &layer::Prepared, payload: payload::Prepared, has_secrets: bool) -> ! {
    let error = match layer::apply_all(prepared, &mut Line { prepared }) {
        Err(error) => error,
        Ok(sealed) => match secrets(has_secrets) {
            Err(error) => ApplyError { layer: "payload", step: "read the secrets", errno: errno(&error) },
            Ok(bytes) => {
                let (argv, envp) = payload.environment(&bytes);
                let error = payload::exec(&sealed, &argv, &envp);
                ApplyError { layer: "payload", step: "execveat", errno: errno(&error) }
            }
        },
    };
    tell(prepared, &error);
    exit_now(1)
}

/// Says why nothing runs, if the supervisor is still there to hear it.
fn tell(prepared: &layer::Prepared, error: &ApplyError) {
    // While the descriptor table is laid out, what has the channel's number may be a file of the caller's. The channel is where
    // it was at first, until all but the fixed numbers is closed.
    if error.layer == Layer::Fds.name() {
        match channel::send_failed(prepared.fds.channel_at_first(), error) {
            Err(closed) if errno(&closed) == libc::EBADF => {}
            _ => return,
        }
    }
    drop(channel::send_failed(CHANNEL_FD, error));
}

fn secrets(has: bool) -> io::Result<Vec<u8>> {
    if !has {
        return Ok(Vec::new());
    }
    let mut bytes = vec![0u8; MAX_SECRETS_BYTES + 1];
    let mut length = 0;
    loop {
        let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) else {
            return Err(io::Error::from_raw_os_error(libc::E2BIG));
        };
        match fd::read(SECRETS_FD, rest)? {
            0 => break,
            count => length += count,
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}
