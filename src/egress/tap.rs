//! What the packet tap saw: attempts at ports that nobody listens on and by other protocols, which the jail's kernel refuses.

use super::log::{Entry, Verdict, What};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// IPv6's fragment header, as a next header.
const FRAGMENT: u8 = 44;

/// An attempt, from the headers of its first packet; `None` for what is no attempt: a connection that is relayed, a packet
/// that was cut.
pub fn attempt(packet: &[u8], listened: &[u16]) -> Option<Entry> {
    let (protocol, to, rest) = match packet.first()? >> 4 {
        4 => {
            let header = usize::from(packet.first()? & 0xf) * 4;
            // A later fragment has no header of its protocol; the first one was seen.
            if u16::from_be_bytes(*packet.get(6..)?.first_chunk()?) & 0x1fff != 0 {
                return None;
            }
            let to = Ipv4Addr::from(*packet.get(16..)?.first_chunk::<4>()?);
            (*packet.get(9)?, IpAddr::V4(to), packet.get(header..)?)
        }
        6 => {
            let to = Ipv6Addr::from(*packet.get(24..)?.first_chunk::<16>()?);
            let rest = packet.get(40..)?;
            match *packet.get(6)? {
                FRAGMENT if u16::from_be_bytes(*rest.get(2..)?.first_chunk()?) & 0xfff8 != 0 => return None,
                FRAGMENT => (*rest.first()?, IpAddr::V6(to), rest.get(8..)?),
                other => (other, IpAddr::V6(to), rest),
            }
        }
        _ => return None,
    };
    let entry = |name: &str, why| Entry::new(What::Attempt, name, Verdict::Refused, why);
    let port = || Some(u16::from_be_bytes(*rest.get(2..)?.first_chunk()?));
    match protocol {
        6 => {
            let port = port()?;
            let stub = to == IpAddr::V4(Ipv4Addr::new(127, 0, 0, 53)) && port == 53;
            let why = "nobody listens on this port: the policy does not list it";
            (!stub && !listened.contains(&port)).then(|| entry("tcp", why).at(SocketAddr::new(to, port)))
        }
        17 => Some(
            entry("udp", "UDP reaches nothing but the jail's own resolver").at(SocketAddr::new(to, port()?)),
        ),
        other => {
            let mut entry = entry(&other.to_string(), "no protocol but TCP reaches anything");
            entry.address = Some(to.to_string());
            Some(entry)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_fragments_tells_the_protocol() {
        let mut packet = [0u8; 56];
        (packet[0], packet[6], packet[40]) = (0x60, 44, 17);
        packet[50..52].copy_from_slice(&447u16.to_be_bytes());
        let entry = attempt(&packet, &[443]).unwrap();
        assert_eq!((entry.protocol.as_str(), entry.port), ("udp", Some(447)));
        packet[43] = 8;
        assert_eq!(attempt(&packet, &[443]), None, "a later fragment");
    }

    #[test]
    fn attempts_are_read_from_their_headers() {
        let mut packet = [0u8; 40];
        (packet[0], packet[9]) = (0x45, 6);
        packet[16..20].copy_from_slice(&[93, 184, 216, 34]);
        packet[22..24].copy_from_slice(&22u16.to_be_bytes());
        let entry = attempt(&packet, &[443]).unwrap();
        assert_eq!(
            (entry.protocol.as_str(), entry.address.as_deref(), entry.port),
            ("tcp", Some("93.184.216.34"), Some(22))
        );
        assert_eq!(attempt(&packet, &[22]), None);
        packet[9] = 17;
        assert_eq!(attempt(&packet, &[22]).unwrap().protocol, "udp");
        packet[9] = 132;
        assert_eq!(attempt(&packet, &[22]).unwrap().protocol, "132");
        packet[7] = 1;
        assert_eq!(attempt(&packet, &[22]), None, "a later fragment");
        for end in 0..packet.len() {
            let _ = attempt(&packet[..end], &[]);
        }
    }
}
