//! Whole runs beside each other: what a jail adds to a program, and what the others add.
//!
//! Absolute times are noise on a shared machine, so everything here is paired: in each round every case runs once, in
//! turn, and what is compared are the medians of many rounds. `make bench` prints a table and writes JSON.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a bench fails by panicking, tells its figures and says what it skips"
)]

mod cases;
mod growth;
mod measure;
mod memory;
mod place;
mod table;
mod warm;

use place::Place;
use table::Table;

type Part = fn(&Place, usize, &mut Table);

/// More rounds, better medians: `BENCH_ROUNDS=300`.
fn rounds() -> usize {
    std::env::var("BENCH_ROUNDS").ok().and_then(|word| word.parse().ok()).unwrap_or(100)
}

fn main() {
    let place = Place::new();
    let rounds = rounds();
    // A part of them by name: `BENCH_ONLY=exec,warm`.
    let only = std::env::var("BENCH_ONLY").unwrap_or_default();
    let wanted = |part: &str| only.is_empty() || only.split(',').any(|word| word == part);
    let mut table = Table::new(&place, rounds);
    let parts: [(&str, Part); 7] = [
        ("exec", cases::exec),
        ("run", cases::run),
        ("data", cases::data),
        ("warm", warm::measure),
        ("memory", memory::measure),
        ("denials", cases::denials),
        ("growth", growth::measure),
    ];
    for (name, part) in parts {
        if wanted(name) {
            part(&place, rounds, &mut table);
        }
    }
    table.finish();
}
