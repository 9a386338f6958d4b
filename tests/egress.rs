//! The egress profile against real servers: in a network namespace that stands for the host, with another one behind it that
//! stands for the internet, both of the tests' own. Nothing leaves the machine.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking; its modules are its own"
)]

#[path = "egress/bench.rs"]
mod bench;
#[path = "egress/clients.rs"]
mod clients;
#[path = "skills/examples.rs"]
#[allow(dead_code, reason = "each test target uses its part")]
mod examples;
#[path = "egress/fetch.rs"]
mod fetch;
#[path = "egress/limits.rs"]
mod limits;
#[path = "egress/policy.rs"]
mod policy;
#[path = "egress/ssrf.rs"]
mod ssrf;
mod support;
#[path = "egress/tls.rs"]
mod tls;
#[path = "egress/world.rs"]
mod world;
