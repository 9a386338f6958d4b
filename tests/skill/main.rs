//! Skill packages: each rule, each command, each way in.
#![allow(missing_docs, unreachable_pub)]

mod commands;
mod examples;
mod hidden;
mod package;
mod reading;
mod rules;
mod sarif;
mod schema;
mod standard;
