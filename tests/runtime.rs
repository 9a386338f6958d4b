//! The pinned Python: what is built, what it can do with nothing else around it, and what is refused.
#![allow(
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and tells why on stderr"
)]

#[path = "runtime/boot.rs"]
mod boot;
#[path = "runtime/booted.rs"]
mod booted;
#[path = "runtime/build.rs"]
mod build;
#[path = "runtime/tree.rs"]
mod tree;
#[path = "runtime/verify.rs"]
mod verify;
