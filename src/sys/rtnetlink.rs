//! `rtnetlink(7)`: two requests, each answered by the kernel before `send` returns.

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd as _, OwnedFd};

/// A socket of the caller's net namespace.
#[derive(Debug)]
pub struct Routes(OwnedFd);

const HEADER: usize = 16;
const ROUTE: usize = 12;
/// The loopback interface is the first of every net namespace.
const LO: u32 = 1;

fn attribute(message: &mut Vec<u8>, kind: u16, bytes: &[u8]) {
    // rtattr: length with its own header, type; the bytes here are 4 or 16, so nothing is padded.
    message.extend(u16::try_from(4 + bytes.len()).unwrap_or(0).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(bytes);
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// rtmsg and its attributes behind an nlmsghdr.
fn request(kind: u16, flags: libc::c_int, route: [u8; ROUTE], attributes: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut body = route.to_vec();
    for (kind, bytes) in attributes {
        attribute(&mut body, *kind, bytes);
    }
    let mut message = Vec::with_capacity(HEADER + body.len());
    message.extend(u32::try_from(HEADER + body.len()).unwrap_or(0).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(u16::try_from(libc::NLM_F_REQUEST | flags).unwrap_or(0).to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    message
}

fn byte(number: libc::c_int) -> u8 {
    u8::try_from(number).unwrap_or(0)
}

impl Routes {
    /// Opens one.
    pub fn open() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        Ok(Self(socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?))
    }

    fn ask(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        send(self.0.as_raw_fd(), request, MsgFlags::empty())?;
        let mut answer = vec![0; 4_096];
        let length = recv(self.0.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        answer.truncate(length);
        let kind =
            answer.get(4..6).and_then(|bytes| bytes.first_chunk()).map(|bytes| u16::from_ne_bytes(*bytes));
        if kind == u16::try_from(libc::NLMSG_ERROR).ok() {
            let code = answer.get(HEADER..).and_then(|bytes| bytes.first_chunk());
            let code = code.map_or(-libc::EIO, |bytes| i32::from_ne_bytes(*bytes));
            if code != 0 {
                return Err(io::Error::from_raw_os_error(-code));
            }
        }
        Ok(answer)
    }

    /// Makes every address of a family one of this namespace's own (`ip route add local 0.0.0.0/0 dev lo`); needs
    /// `CAP_NET_ADMIN` over it.
    pub fn make_all_local(&self, v6: bool) -> io::Result<()> {
        let family = byte(if v6 { libc::AF_INET6 } else { libc::AF_INET });
        let any =
            if v6 { octets(Ipv6Addr::UNSPECIFIED.into()) } else { octets(Ipv4Addr::UNSPECIFIED.into()) };
        let route = [
            family,
            0,
            0,
            0,
            libc::RT_TABLE_LOCAL,
            libc::RTPROT_BOOT,
            if v6 { libc::RT_SCOPE_UNIVERSE } else { libc::RT_SCOPE_HOST },
            libc::RTN_LOCAL,
            0,
            0,
            0,
            0,
        ];
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL | libc::NLM_F_ACK;
        let attributes = [(libc::RTA_DST, any), (libc::RTA_OIF, LO.to_ne_bytes().to_vec())];
        self.ask(&request(libc::RTM_NEWROUTE, flags, route, &attributes)).map(drop)
    }

    /// The kind of the route to an address, as `RTN_*`: `RTN_UNICAST` leads to somebody else, `RTN_LOCAL` is ourselves.
    ///
    /// # Errors
    /// `ENETUNREACH` where there is none.
    pub fn kind(&self, address: IpAddr) -> io::Result<u8> {
        let (family, length) = if address.is_ipv4() { (libc::AF_INET, 32) } else { (libc::AF_INET6, 128) };
        let route = [byte(family), length, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let answer = self.ask(&request(libc::RTM_GETROUTE, 0, route, &[(libc::RTA_DST, octets(address))]))?;
        // rtm_type is the eighth byte of rtmsg.
        answer.get(HEADER + 7).copied().ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTO))
    }
}

#[cfg(test)]
mod tests {
    use super::Routes;

    #[test]
    fn our_own_addresses_are_told_from_others() {
        let routes = Routes::open().unwrap();
        assert_eq!(routes.kind("127.0.0.1".parse().unwrap()).unwrap(), libc::RTN_LOCAL);
        assert_ne!(routes.kind("93.184.216.34".parse().unwrap()).ok(), Some(libc::RTN_LOCAL));
    }
}
