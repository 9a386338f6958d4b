//! Which addresses are the public internet: one table, from IANA's registries of special-purpose addresses (IPv4 and IPv6,
//! October 2024), and what clouds put where nobody looks for it. Also the names that never leave a host's own network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Each network that is not the public internet: address, prefix length, what it is.
const V4: &[(Ipv4Addr, u8, &str)] = &[
    (Ipv4Addr::UNSPECIFIED, 8, "this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared address space"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(168, 63, 129, 16), 32, "metadata service"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "protocol assignments"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation"),
    (Ipv4Addr::new(192, 31, 196, 0), 24, "AS112"),
    (Ipv4Addr::new(192, 52, 193, 0), 24, "multicast relays"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "6to4 relays"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(192, 175, 48, 0), 24, "AS112"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarking"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// The same for IPv6; what is outside of [`GLOBAL`] and not here is unassigned.
const V6: &[(Ipv6Addr, u8, &str)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::UNSPECIFIED, 96, "IPv4-compatible"),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, "IPv4-mapped"),
    (Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96, "IPv4-translated"),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, "NAT64"),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "NAT64, local prefix"),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "discard"),
    (Ipv6Addr::new(0x100, 0, 0, 1, 0, 0, 0, 0), 64, "dummy prefix"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, "Teredo"),
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48, "benchmarking"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "protocol assignments"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4"),
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48, "AS112"),
    (Ipv6Addr::new(0x3ffe, 0, 0, 0, 0, 0, 0, 0), 16, "6bone"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "documentation"),
    (Ipv6Addr::new(0x5f00, 0, 0, 0, 0, 0, 0, 0), 16, "segment routing"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "unique local"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "site local"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
];

/// The only part of IPv6 from which global unicast addresses are given out.
const GLOBAL: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Ends of names that never belong to the public internet: special-use names of IANA's registry, and metadata services.
const NAMES: &[(&str, &str)] = &[
    ("localhost", "the host itself"),
    ("local", "names of the local link"),
    ("internal", "private names, and metadata services"),
    ("home.arpa", "names of a home network"),
    ("in-addr.arpa", "names of addresses"),
    ("ip6.arpa", "names of addresses"),
    ("ipv4only.arpa", "names of translators"),
    ("invalid", "names that never exist"),
    ("onion", "names of another network"),
    ("instance-data.ec2.amazonaws.com", "a metadata service"),
];

fn within(address: u128, network: u128, length: u8, width: u8) -> bool {
    let shift = u32::from(width - length);
    address.checked_shr(shift).unwrap_or(0) == network.checked_shr(shift).unwrap_or(0)
}

/// What an address is when it is not global unicast; `None` for one of the public internet.
pub fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => {
            let bits = |address: Ipv4Addr| u128::from(address.to_bits());
            V4.iter()
                .find(|(net, len, _)| within(bits(address), bits(*net), *len, 32))
                .map(|(.., what)| *what)
        }
        IpAddr::V6(address) => {
            let found = V6.iter().find(|(net, len, _)| within(address.to_bits(), net.to_bits(), *len, 128));
            let global = within(address.to_bits(), GLOBAL.0.to_bits(), GLOBAL.1, 128);
            found.map(|(.., what)| *what).or((!global).then_some("unassigned"))
        }
    }
}

/// What a name is when it cannot be one of the public internet.
pub fn special_name(name: &str) -> Option<&'static str> {
    NAMES
        .iter()
        .find(|(end, _)| name.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
        .map(|(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_the_public_internet_is_named() {
        for (address, what) in [
            ("0.0.0.0", "this network"),
            ("10.255.255.255", "private"),
            ("100.64.0.1", "shared address space"),
            ("100.100.100.200", "shared address space"),
            ("127.0.0.53", "loopback"),
            ("168.63.129.16", "metadata service"),
            ("169.254.169.254", "link local"),
            ("172.31.255.255", "private"),
            ("192.0.0.192", "protocol assignments"),
            ("192.0.2.1", "documentation"),
            ("192.168.0.1", "private"),
            ("198.19.255.255", "benchmarking"),
            ("203.0.113.9", "documentation"),
            ("224.0.0.1", "multicast"),
            ("255.255.255.255", "reserved"),
            ("::", "unspecified"),
            ("::1", "loopback"),
            ("::10.0.0.1", "IPv4-compatible"),
            ("::ffff:93.184.216.34", "IPv4-mapped"),
            ("64:ff9b::7f00:1", "NAT64"),
            ("64:ff9b:1::1", "NAT64, local prefix"),
            ("2001::1", "Teredo"),
            ("2001:2::1", "benchmarking"),
            ("2001:20::1", "protocol assignments"),
            ("2001:db8::1", "documentation"),
            ("2002:7f00:1::", "6to4"),
            ("3fff:0fff::1", "documentation"),
            ("fd00:ec2::254", "unique local"),
            ("fe80::1", "link local"),
            ("fec0::1", "site local"),
            ("ff02::1", "multicast"),
            ("4000::1", "unassigned"),
        ] {
            assert_eq!(special(address.parse().unwrap()), Some(what), "{address}");
        }
    }

    #[test]
    fn the_neighbours_of_each_network_are_public() {
        for address in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "93.184.216.34",
            "2001:200::1",
            "2001:db7:ffff::1",
            "2001:db9::1",
            "2003::1",
            "2606:2800:220:1::1",
            "3ffd::1",
        ] {
            assert_eq!(special(address.parse().unwrap()), None, "{address}");
        }
    }

    #[test]
    fn names_of_the_inside_are_known_by_their_end() {
        for name in [
            "metadata.google.internal",
            "x.local",
            "localhost",
            "a.localhost",
            "instance-data.ec2.amazonaws.com",
        ] {
            assert!(special_name(name).is_some(), "{name}");
        }
        for name in ["notlocal", "local.example.org", "internal.example.org", "example.org"] {
            assert!(special_name(name).is_none(), "{name}");
        }
    }
}
