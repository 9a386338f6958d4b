//! Runs one script of an AI agent's *skill* in a jail.
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

pub mod cli;
pub mod cmd;
pub mod digest;
pub mod exit;
pub mod host;
#[cfg(feature = "lab")]
pub mod lab;
pub mod layer;
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
