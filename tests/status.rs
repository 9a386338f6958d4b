//! Each status of the result document, reached for real: the document, the exit code, the error, the limit.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "what fails here fails a test; a skipped test says why"
)]

mod support;

#[path = "status/ends.rs"]
mod ends;
#[path = "status/faults.rs"]
mod faults;
#[path = "status/limits.rs"]
mod limits;
#[path = "status/output.rs"]
mod output;
#[path = "status/refused.rs"]
mod refused;
#[path = "status/setup.rs"]
mod setup;
#[path = "status/testimony.rs"]
mod testimony;

use support::{Ran, Skill};

/// A run of this script in the default jail.
fn run(script: &str) -> Ran {
    Skill::new(script).run().go()
}

/// Status and exit code, which go together in one table of the design.
#[track_caller]
fn assert_end(ran: &Ran, status: &str, code: i32) {
    assert_eq!((ran.status(), ran.code), (status, code), "{ran:#?}");
}

/// The error's id; that it says why, and that it is no riddle of a layer where none failed.
#[track_caller]
fn assert_error(ran: &Ran, id: &str, words: &str) {
    let error = &ran.report["error"];
    assert_eq!(error["id"], id, "{error:#}");
    let told = format!("{} {}", error["cause"].as_str().unwrap(), error["hint"].as_str().unwrap_or_default());
    assert!(told.contains(words), "{words:?} is not in {told:?}");
}

/// Exactly these limits were reached, on somebody's testimony.
#[track_caller]
fn assert_reached(ran: &Ran, names: &[&str]) {
    let limits = ran.report["limits"].as_array().unwrap().iter();
    let reached: Vec<&str> = limits
        .filter(|limit| limit["reached"] == "yes")
        .map(|limit| limit["name"].as_str().unwrap())
        .collect();
    assert_eq!(reached, names, "{ran:#?}");
}
