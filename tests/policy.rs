//! `skilljail policy`: what is shown, compared, explained and found is true of what runs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(unreachable_pub, reason = "a test module; `schema` is shared with the tests of skills")]
#![cfg(feature = "review")]

mod support;

#[path = "policy/bench.rs"]
mod bench;
#[path = "policy/check.rs"]
mod check;
#[path = "policy/diff.rs"]
mod diff;
#[path = "policy/explain.rs"]
mod explain;
#[path = "policy/guarantees.rs"]
mod guarantees;
#[path = "skill/schema.rs"]
mod schema;
#[path = "policy/show.rs"]
mod show;
#[path = "policy/trial.rs"]
mod trial;
