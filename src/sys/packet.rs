//! `packet(7)`: a socket that sees the first packet of each attempt on an interface, and nothing of what is carried.

use super::checked;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

/// Bytes of each packet that are kept: headers.
pub const SNAP: u32 = 96;

/// BPF_LD | BPF_B | BPF_ABS (linux/bpf_common.h)
const LD_BYTE: u16 = 0x30;
/// BPF_LD | BPF_W | BPF_ABS (linux/bpf_common.h)
const LD_WORD: u16 = 0x20;
/// BPF_LD | BPF_B | BPF_IND (linux/bpf_common.h)
const LD_BYTE_X: u16 = 0x50;
/// BPF_LD | BPF_H | BPF_IND (linux/bpf_common.h)
const LD_HALF_X: u16 = 0x48;
/// BPF_LDX | BPF_B | BPF_MSH (linux/bpf_common.h)
const LDX_HEADER: u16 = 0xb1;
/// BPF_ALU | BPF_AND | BPF_K (linux/bpf_common.h)
const AND: u16 = 0x54;
/// BPF_JMP | BPF_JEQ | BPF_K (linux/bpf_common.h)
const JEQ: u16 = 0x15;
/// BPF_RET | BPF_K (linux/bpf_common.h)
const RET: u16 = 0x06;
/// SKF_AD_OFF + SKF_AD_PKTTYPE (linux/filter.h).
const PACKET_TYPE: u32 = 0xffff_f004;
const PACKET_OUTGOING: u32 = 4;
const SYN: u32 = 0x02;
const ACK: u32 = 0x10;
/// 127.0.0.53
const STUB: u32 = 0x7f00_0035;
const STUB_PORT: u32 = 53;

/// Takes SYNs without ACK, UDP but what goes to or comes from port 53 of 127.0.0.53, and every other protocol but ICMP; each
/// packet of the loopback once. Runs for every packet of every connection, so what is carried leaves by the shortest path.
const FILTER: [(u16, u8, u8, u32); 31] = [
    (LD_BYTE, 0, 0, PACKET_TYPE),
    (JEQ, 28, 0, PACKET_OUTGOING), // -> drop
    (LD_BYTE, 0, 0, 0),
    (AND, 0, 0, 0xf0),
    (JEQ, 17, 0, 0x60), // IPv6
    (LD_BYTE, 0, 0, 9),
    (JEQ, 11, 0, 6),  // TCP
    (JEQ, 22, 0, 1),  // ICMP -> drop
    (JEQ, 0, 20, 17), // not UDP -> keep
    (LDX_HEADER, 0, 0, 0),
    (LD_WORD, 0, 0, 16),
    (JEQ, 0, 2, STUB), // not to the stub's address
    (LD_HALF_X, 0, 0, 2),
    (JEQ, 16, 15, STUB_PORT), // -> drop, keep
    (LD_WORD, 0, 0, 12),
    (JEQ, 0, 13, STUB), // nor from it -> keep
    (LD_HALF_X, 0, 0, 0),
    (JEQ, 12, 11, STUB_PORT), // -> drop, keep
    // TCP over IPv4
    (LDX_HEADER, 0, 0, 0),
    (LD_BYTE_X, 0, 0, 13),
    (AND, 0, 0, SYN | ACK),
    (JEQ, 7, 8, SYN), // -> keep, drop
    // IPv6, whose next header is at 6
    (LD_BYTE, 0, 0, 6),
    (JEQ, 0, 3, 6),
    (LD_BYTE, 0, 0, 40 + 13),
    (AND, 0, 0, SYN | ACK),
    (JEQ, 2, 3, SYN), // -> keep, drop
    (JEQ, 2, 0, 58),  // ICMPv6 -> drop
    (JEQ, 1, 0, 0),   // hop-by-hop options, which the kernel's own multicast reports have -> drop
    (RET, 0, 0, SNAP),
    (RET, 0, 0, 0),
];

/// How many packets passed the filter and found no room; asking starts the count anew (packet(7), `PACKET_STATISTICS`).
///
/// # Errors
/// ENOTSOCK, ENOPROTOOPT: no packet socket.
pub fn lost(tap: BorrowedFd<'_>) -> io::Result<u32> {
    let mut packets_and_drops = [0u32; 2];
    let mut size = u32::try_from(size_of_val(&packets_and_drops)).unwrap_or(0);
    // SAFETY: the kernel writes at most `size` bytes, those of the array, and the size itself; both outlive the call.
    checked(libc::c_long::from(unsafe {
        libc::getsockopt(
            tap.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            packets_and_drops.as_mut_ptr().cast(),
            &raw mut size,
        )
    }))?;
    Ok(packets_and_drops[1])
}

/// Opens one on every interface of the caller's net namespace; needs `CAP_NET_RAW` over it.
pub fn tap() -> io::Result<OwnedFd> {
    // No protocol yet: nothing comes in before the filter is there.
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Packet, SockType::Datagram, flags, None::<SockProtocol>)?;
    let mut filter = FILTER.map(|(code, jt, jf, k)| libc::sock_filter { code, jt, jf, k });
    let program =
        libc::sock_fprog { len: u16::try_from(filter.len()).unwrap_or(0), filter: filter.as_mut_ptr() };
    // SAFETY: the kernel reads `program` and the instructions that it points to, which live until the end of this function.
    checked(libc::c_long::from(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            u32::try_from(size_of::<libc::sock_fprog>()).unwrap_or(0),
        )
    }))?;
    // SAFETY: `sockaddr_ll` is plain data, for which all zeros is a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = u16::try_from(libc::AF_PACKET).unwrap_or(0);
    address.sll_protocol = u16::try_from(libc::ETH_P_ALL).unwrap_or(0).to_be();
    // SAFETY: the kernel reads one `sockaddr_ll`, which outlives the call.
    checked(libc::c_long::from(unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            u32::try_from(size_of::<libc::sockaddr_ll>()).unwrap_or(0),
        )
    }))?;
    Ok(socket)
}
