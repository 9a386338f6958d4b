//! # Egress: where a skill may connect to, and what that cannot stop
//!
//! A skill whose `xray.json` says `"network": "egress"` reaches what its policy lists, under a policy that has an `egress`
//! part; under one without it is refused before anything runs. A skill that says nothing has no network, and the filter without
//! sockets, whatever the policy has.
//!
//! ## How a connection goes
//!
//! 1. The jail's network namespace has no way out: one loopback interface, and every address of IPv4 and IPv6 is its own. The
//!    child opens a listener for each port that is listed, and a resolver on 127.0.0.53, and hands the sockets to the supervisor
//!    before the script exists. The script keeps none of them; the filter refuses bind, listen and accept.
//! 2. The script asks for a name. The supervisor answers A and AAAA of listed names: it asks the host's resolver (or the policy's),
//!    follows aliases, drops every address that is not global unicast, the host's own ones included, and remembers the rest
//!    for this run.
//! 3. The script connects, with any client. The supervisor accepts, takes the address from the kernel, and relays only to an address
//!    that a listed name had, on a port listed for that name (mode `names`), or to any global address (mode `public`). It dials
//!    that very address: no name is looked up twice.
//! 4. On port 443 the server name of the TLS handshake is read before anything is dialled, and must be a listed name that has
//!    this address (`sni`). TLS itself is untouched: the script checks the certificate, the supervisor cannot read.
//!
//! A refused connection is reset, because the kernel of the jail has answered its connect already. A refused name is `REFUSED`;
//! asked for a TXT record of it, the resolver answers the reason. A port that is not listed is "connection refused" by the jail's
//! own kernel. Each lookup, connection and attempt is in the result under `egress`: every lookup that left, whatever came back and
//! whether the script waited for it; every connection that was carried, with its bytes. Attempts and other refusals have shares of
//! their own of the kept entries, so that no flood of them hides what was done; what came faster than the kernel's tap holds is
//! counted as `egress_lost`. Bounds that were reached are in `limits`; `max_bytes` counts what is read from either side, and not
//! one byte passes beyond it.
//!
//! `--egress-allow NAME:PORT` narrows a run to some of what the policy allows, and never widens.
//!
//! ## What it cannot stop
//!
//! - **Whoever is listed is told whatever the script knows.** Bytes to an allowed host are not looked into.
//! - **Fronting.** Inside TLS a request may name another host than the handshake did. A server of a shared content network that
//!   honours it answers for names that nobody listed. On port 80 there is no handshake at all: the `Host` line is not
//!   looked at, so each name of a shared address is reached through the one that is listed. List 443 alone where you can.
//!   A handshake with an encrypted client hello shows its outer name only.
//! - **Names carry data.** Each name below a wildcard is asked for at its owner's resolver, so a script can write into names what
//!   it knows. `max_lookups` bounds how much. Without wildcards the names are a fixed list, and only their order and time speak.
//! - **Mode `public` is the internet.** It keeps a run away from the inside, and from nothing else.
//! - **A name that is public and yours.** An address of your own in a public range is public to the table of special addresses. The
//!   host's own addresses are known and refused; for those of its neighbours there is `egress.deny`. So it is for a
//!   NAT64 prefix of your own network, which cannot be told from any other address.
//! - **The resolver is believed** in what it says of public addresses: who answers for a listed name says where it lies.
//! - **What the C library asks for by itself** is refused without being written down: a UNIX socket of the types that nscd and syslog
//!   take, and a netlink socket, before each lookup. A UNIX socket of any other type is written down.
//! - **Descriptors in flight.** `sendmsg` is allowed, because asyncio writes with it: runs that share an outer uid (those of an
//!   ordinary caller) share the account of descriptors in flight, and may signal each other by it.
//! - **Kernel memory of sockets** is bounded by `max_connections` times the kernel's own maxima of TCP buffers, and counted only where
//!   there is a cgroup.
