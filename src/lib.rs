//! Runs one script of an AI agent's *skill* in a jail.
#![warn(clippy::pedantic)]
#![allow(clippy::module_name_repetitions, clippy::missing_errors_doc, clippy::must_use_candidate)]

pub mod cli;
pub mod cmd;
pub mod exit;
pub mod host;
pub mod render;
pub mod runtime;
pub mod seccomp;
pub mod skill;
#[allow(unsafe_code)]
pub mod sys;
