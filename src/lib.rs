//! Runs one script of an AI agent's *skill* in a jail.
//!
//! The promise: each layer is required, a layer that cannot be applied means that nothing runs, and the result document says
//! what held. The [`manual`] explains whom that protects from what.
//!
//! ```text
//! argv + stdin JSON
//!  -> cli          raw words
//!  -> policy       parse, validate
//!  -> skill        beneath one dirfd, bytes verified; contract checked against the input
//!  -> runtime      the pinned Python
//!  -> host         facts
//!  -> Plan::build  pure data: what each layer will do
//!  -> supervisor   prepare everything, clone
//!       parent: maps -> go -> listener -> one poll loop
//!       child : PID 1: fds -> ids -> mounts -> net -> rlimits -> privs -> landlock -> fork, then init
//!               PID 2: seccomp -> Sealed -> payload::exec
//!  -> Report       one JSON document -> exit code
//! ```
#![warn(clippy::pedantic)]
#![allow(
    clippy::module_name_repetitions,
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    clippy::similar_names,
    clippy::many_single_char_names,
    // Names of system calls and man pages are words of this field, not code.
    clippy::doc_markdown
)]

#[cfg(feature = "battery")]
pub mod attack;
#[cfg(feature = "review")]
pub mod audit;
pub mod cli;
pub mod cmd;
pub mod digest;
pub mod egress;
pub mod exit;
#[cfg(feature = "battery")]
pub mod fuzz;
pub mod host;
#[cfg(feature = "lab")]
pub mod lab;
pub mod layer;
pub mod manual;
pub mod notify;
pub mod payload;
pub mod plan;
pub mod policy;
pub mod render;
pub mod report;
pub mod runtime;
pub mod seccomp;
pub mod skill;
pub mod supervisor;
#[allow(unsafe_code)]
pub mod sys;
pub mod target;
