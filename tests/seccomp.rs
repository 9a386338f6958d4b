//! The filters against the kernel: what the prover says is what a child gets.
#![allow(unsafe_code, reason = "children are forked and make raw calls")]
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![allow(clippy::print_stderr, reason = "what was tried, and what was skipped, is told")]

#[path = "seccomp/agree.rs"]
mod agree;
#[path = "seccomp/child.rs"]
mod child;
#[path = "seccomp/entries.rs"]
mod entries;
#[path = "seccomp/exec.rs"]
mod exec;
#[path = "seccomp/size.rs"]
mod size;
#[path = "seccomp/walls.rs"]
mod walls;
