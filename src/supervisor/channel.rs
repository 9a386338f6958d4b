//! The socket between supervisor and child: one typed method a message, no allocation on the child's side.
//!
//! SOCK_SEQPACKET keeps message boundaries. The first byte is the kind, the rest fixed little-endian fields.

use crate::layer::{ApplyError, Facts, NetFacts, Took};
use crate::sys::wait::Ended;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg, sendmsg,
    socketpair,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd, RawFd};

const GO: u8 = b'g';
const FAILED: u8 = b'f';
const BORN: u8 = b'b';
const SEALED: u8 = b's';
const INIT_SEALED: u8 = b'i';
const ENDED: u8 = b'e';
const NET: u8 = b'n';

/// A message brings at most so many descriptors (SCM_MAX_FD is 253).
const RIGHTS: usize = 64;

/// Longest name of a layer or step that fits in a message; longer ones are cut.
const NAME: usize = 80;
const MESSAGE: usize = 2 * NAME + 8;

/// What the child's side says.
#[derive(Debug)]
pub enum Message {
    /// A step failed; nothing of the payload ran.
    Failed {
        /// The layer.
        layer: String,
        /// The step.
        step: String,
        /// The kernel's answer.
        errno: i32,
    },
    /// The sockets of the jail's net namespace.
    Net(Vec<OwnedFd>, NetFacts),
    /// The payload's process exists, every layer but the filter is in force.
    Born {
        /// Its pidfd.
        payload: OwnedFd,
        /// The root of the workdir's tmpfs.
        workdir: OwnedFd,
        /// What only the child knows.
        facts: Facts,
    },
    /// The filter is in force; the listener's number in the payload's process, which waits for "go".
    Sealed(Option<RawFd>),
    /// Init has its own filter, and can no longer fail.
    InitSealed,
    /// The payload ended.
    Ended(Ended),
}

/// A connected pair: the supervisor's end and the child's.
pub fn pair() -> nix::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
}

fn put(buffer: &mut [u8; MESSAGE], at: usize, bytes: &[u8]) {
    for (slot, byte) in buffer.iter_mut().skip(at).zip(bytes) {
        *slot = *byte;
    }
}

fn send(fd: RawFd, bytes: &[u8]) -> io::Result<()> {
    let sent = crate::sys::fd::write(fd, bytes)?;
    if sent == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// The supervisor's "go".
pub fn send_go(fd: BorrowedFd<'_>) -> io::Result<()> {
    send(fd.as_raw_fd(), &[GO])
}

/// Waits for "go". End of file, which is the supervisor's death, is an error and never a "go".
pub fn wait_go(fd: RawFd) -> io::Result<()> {
    let mut byte = [0u8; 1];
    match crate::sys::fd::read(fd, &mut byte)? {
        1 if byte == [GO] => Ok(()),
        0 => Err(io::Error::from_raw_os_error(libc::EPIPE)),
        _ => Err(io::Error::from_raw_os_error(libc::EPROTO)),
    }
}

/// Says that a step failed.
pub fn send_failed(fd: RawFd, error: &ApplyError) -> io::Result<()> {
    let mut message = [0u8; MESSAGE];
    put(&mut message, 0, &[FAILED]);
    put(&mut message, 1, &error.errno.to_le_bytes());
    for (at, name) in [(8, error.layer), (8 + NAME, error.step)] {
        let bytes = name.as_bytes();
        put(&mut message, at, bytes.get(..NAME - 1).unwrap_or(bytes));
    }
    send(fd, &message)
}

/// Hands over the sockets of the net namespace.
pub fn send_net(fd: RawFd, sockets: &[RawFd], facts: NetFacts) -> io::Result<()> {
    let message = [NET, u8::from(facts.v6), u8::from(facts.tap)];
    let rights = [ControlMessage::ScmRights(sockets)];
    sendmsg::<()>(fd, &[IoSlice::new(&message)], &rights, MsgFlags::MSG_NOSIGNAL, None)?;
    Ok(())
}

/// Says that the payload's process exists.
pub fn send_born(fd: RawFd, payload: RawFd, workdir: RawFd, facts: Facts) -> io::Result<()> {
    let [a, b, c, d] = facts.landlock_abi.to_le_bytes();
    let flags = [facts.no_nested_userns, facts.own_keyring, facts.net.v6, facts.net.tap].map(u8::from);
    let mut message = [0u8; MESSAGE];
    put(&mut message, 0, &[BORN, a, b, c, d]);
    put(&mut message, 5, &flags);
    for (at, us) in (9..).step_by(4).zip(facts.took.0) {
        put(&mut message, at, &us.to_le_bytes());
    }
    let rights = [payload, workdir];
    sendmsg::<()>(
        fd,
        &[IoSlice::new(&message)],
        &[ControlMessage::ScmRights(&rights)],
        MsgFlags::MSG_NOSIGNAL,
        None,
    )?;
    Ok(())
}

/// Says that the filter is in force, and where its listener is.
pub fn send_sealed(fd: RawFd, listener: Option<RawFd>) -> io::Result<()> {
    let [a, b, c, d] = listener.unwrap_or(-1).to_le_bytes();
    send(fd, &[SEALED, a, b, c, d])
}

/// Says that init has its own filter.
pub fn send_init_sealed(fd: RawFd) -> io::Result<()> {
    send(fd, &[INIT_SEALED])
}

/// Says how the payload ended.
pub fn send_ended(fd: RawFd, ended: Ended) -> io::Result<()> {
    let mut message = [0u8; MESSAGE];
    put(&mut message, 0, &[ENDED]);
    put(&mut message, 1, &ended.status.to_le_bytes());
    put(&mut message, 8, &ended.cpu_us.to_le_bytes());
    put(&mut message, 16, &ended.max_rss_kib.to_le_bytes());
    send(fd, &message)
}

/// Takes the next message; `None` when the child's side is gone. Anything malformed is `EPROTO`: the payload's
/// process may have been taken over only after its end of the channel was closed by exec, so that cannot happen.
pub fn receive(fd: BorrowedFd<'_>) -> io::Result<Option<Message>> {
    match take(fd) {
        // A child that fails before it took its "go" resets the connection, and a reset is told once, before what the child
        // said: that is still there, and end of file behind it.
        Err(error) if error.raw_os_error() == Some(libc::ECONNRESET) => take(fd),
        other => other,
    }
}

fn take(fd: BorrowedFd<'_>) -> io::Result<Option<Message>> {
    let mut buffer = [0u8; MESSAGE];
    let mut space = nix::cmsg_space!([RawFd; RIGHTS]);
    let mut iov = [IoSliceMut::new(&mut buffer)];
    let received = recvmsg::<()>(fd.as_raw_fd(), &mut iov, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC)?;
    let length = received.bytes;
    let mut rights = Vec::new();
    for message in received.cmsgs()? {
        if let ControlMessageOwned::ScmRights(fds) = message {
            rights.extend(fds.into_iter().map(crate::sys::fd::received));
        }
    }
    if length == 0 {
        return Ok(None);
    }
    decode(&buffer, rights).map(Some).ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTO))
}

fn took(buffer: &[u8; MESSAGE]) -> Option<Took> {
    let mut took = Took::default();
    for (at, slot) in (9..).step_by(4).zip(&mut took.0) {
        *slot = u32::from_le_bytes(*buffer.get(at..)?.first_chunk()?);
    }
    Some(took)
}

fn decode(buffer: &[u8; MESSAGE], rights: Vec<OwnedFd>) -> Option<Message> {
    let int = |at: usize| Some(i32::from_le_bytes(*buffer.get(at..)?.first_chunk()?));
    let long = |at: usize| Some(u64::from_le_bytes(*buffer.get(at..)?.first_chunk()?));
    let name = |at: usize| {
        let bytes = buffer.get(at..at + NAME)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(bytes.get(..end)?).into_owned())
    };
    match *buffer.first()? {
        FAILED => Some(Message::Failed { errno: int(1)?, layer: name(8)?, step: name(8 + NAME)? }),
        BORN => {
            let [payload, workdir] = <[OwnedFd; 2]>::try_from(rights).ok()?;
            let facts = Facts {
                landlock_abi: int(1)?.unsigned_abs(),
                no_nested_userns: *buffer.get(5)? == 1,
                own_keyring: *buffer.get(6)? == 1,
                took: took(buffer)?,
                net: NetFacts { v6: *buffer.get(7)? == 1, tap: *buffer.get(8)? == 1 },
            };
            Some(Message::Born { payload, workdir, facts })
        }
        NET => Some(Message::Net(rights, NetFacts { v6: *buffer.get(1)? == 1, tap: *buffer.get(2)? == 1 })),
        SEALED => Some(Message::Sealed(int(1).map(|number| (number >= 0).then_some(number))?)),
        INIT_SEALED => Some(Message::InitSealed),
        ENDED => Some(Message::Ended(Ended { status: int(1)?, cpu_us: long(8)?, max_rss_kib: long(16)? })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd as _;

    #[test]
    fn every_message_arrives_as_it_was_sent() {
        let (ours, theirs) = pair().unwrap();
        let error = ApplyError { layer: "mounts", step: "pivot_root", errno: libc::EPERM };
        send_failed(theirs.as_raw_fd(), &error).unwrap();
        let Some(Message::Failed { layer, step, errno }) = receive(ours.as_fd()).unwrap() else { panic!() };
        assert_eq!((layer.as_str(), step.as_str(), errno), ("mounts", "pivot_root", libc::EPERM));

        let took = Took([1, 2, 3, 4, 5, 6, u32::MAX]);
        let net = NetFacts { v6: true, tap: false };
        let facts = Facts { landlock_abi: 7, no_nested_userns: true, own_keyring: false, took, net };
        let file = std::fs::File::open("/dev/null").unwrap();
        send_born(theirs.as_raw_fd(), file.as_raw_fd(), file.as_raw_fd(), facts).unwrap();
        let Some(Message::Born { facts: got, .. }) = receive(ours.as_fd()).unwrap() else { panic!() };
        assert_eq!(got, facts);

        for listener in [Some(17), None] {
            send_sealed(theirs.as_raw_fd(), listener).unwrap();
            assert!(matches!(receive(ours.as_fd()).unwrap(), Some(Message::Sealed(n)) if n == listener));
        }

        send_init_sealed(theirs.as_raw_fd()).unwrap();
        assert!(matches!(receive(ours.as_fd()).unwrap(), Some(Message::InitSealed)));

        let ended = Ended { status: 0x0100, cpu_us: 1 << 40, max_rss_kib: 12_345 };
        send_ended(theirs.as_raw_fd(), ended).unwrap();
        assert!(matches!(receive(ours.as_fd()).unwrap(), Some(Message::Ended(e)) if e == ended));

        drop(theirs);
        assert!(receive(ours.as_fd()).unwrap().is_none());
    }

    #[test]
    fn what_a_child_said_that_never_took_its_go_is_heard() {
        let (ours, theirs) = pair().unwrap();
        send_go(ours.as_fd()).unwrap();
        let error = ApplyError { layer: "fds", step: "close_range", errno: libc::ENOMEM };
        send_failed(theirs.as_raw_fd(), &error).unwrap();
        drop(theirs);
        assert!(
            matches!(receive(ours.as_fd()).unwrap(), Some(Message::Failed { step, .. }) if step == "close_range")
        );
        assert!(receive(ours.as_fd()).unwrap().is_none());
    }

    #[test]
    fn end_of_file_is_never_a_go() {
        let (ours, theirs) = pair().unwrap();
        drop(ours);
        assert_eq!(wait_go(theirs.as_raw_fd()).unwrap_err().raw_os_error(), Some(libc::EPIPE));
        let (ours, theirs) = pair().unwrap();
        crate::sys::fd::write(ours.as_raw_fd(), b"x").unwrap();
        assert_eq!(wait_go(theirs.as_raw_fd()).unwrap_err().raw_os_error(), Some(libc::EPROTO));
    }
}
