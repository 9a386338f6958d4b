//! Skill packages: each rule, each command, each way in.
#![cfg(feature = "review")]
#![allow(missing_docs, unreachable_pub, reason = "modules of one test")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a benchmark tells its figures")]

mod commands;
mod examples;
mod hidden;
mod package;
mod reading;
mod rules;
mod sarif;
mod schema;
mod speed;
mod standard;
#[path = "../support/mod.rs"]
mod support;
