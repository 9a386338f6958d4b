//! Who calls: a shell on a terminal, a pipe, cron, a daemon that dies; and what a caller hands in and gets out.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "what fails here fails a test; a skipped test says why"
)]

mod support;

#[path = "callers/artifacts.rs"]
mod artifacts;
#[path = "callers/cron.rs"]
mod cron;
#[path = "callers/leftovers.rs"]
mod leftovers;
#[path = "callers/secrets.rs"]
mod secrets;
#[path = "callers/streams.rs"]
mod streams;
#[path = "callers/terminal.rs"]
mod terminal;

/// The host's Python, for the fixtures that play a caller.
fn python() -> &'static str {
    ["/usr/bin/python3", "/usr/local/bin/python3"]
        .into_iter()
        .find(|path| std::path::Path::new(path).exists())
        .unwrap_or("python3")
}

/// A fixture beside these tests.
fn fixture(name: &str) -> String {
    support::checkout().join("tests/callers").join(name).to_str().expect("the checkout is UTF-8").to_owned()
}

/// A word that no other process has.
fn word(what: &str) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("sj-{what}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}
