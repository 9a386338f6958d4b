//! A hundred runs at once and ten thousand in a row leave nothing: run by `make soak`, with the optimised program.
//!
//! One run in fifty ends badly. The snapshots hold what the kernel shows; what other programs of the machine come and go
//! with is waited out, what stays is a failure.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and tells how far it is"
)]

#[path = "soak/ends.rs"]
mod ends;
#[path = "soak/snapshot.rs"]
mod snapshot;
mod support;

use ends::Ground;
use snapshot::Snapshot;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const AT_ONCE: usize = 100;
const IN_A_ROW: usize = 10_000;
/// Rows side by side: one a core of the smallest machine.
const ROWS: usize = 2;

/// How many runs in a row; fewer while one works on this test itself.
fn in_a_row() -> usize {
    std::env::var("SOAK_RUNS").map_or(IN_A_ROW, |word| word.parse().expect("SOAK_RUNS is a number"))
}

// One test: two at once would see each other.
#[test]
fn a_hundred_at_once_and_ten_thousand_in_a_row_leave_nothing() {
    nix::sys::prctl::set_child_subreaper(true).expect("orphans of killed supervisors come to this process");
    let ground = Ground::new();
    // The first run of each kind may make what is made once, such as bytecode of the runtime's start.
    (0..ends::KINDS).for_each(|kind| ground.end_badly(kind));
    ground.end_well();
    let before = Snapshot::take();
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let peak = ground.supervisor_peak_kib(|| before.assert_something_is_there());
    eprintln!("soak: a supervisor's peak memory is {peak} KiB");
    drop(file);
    let begun = Instant::now();

    std::thread::scope(|scope| {
        for number in 0..AT_ONCE {
            let ground = &ground;
            scope.spawn(
                move || if number % 10 == 9 { ground.end_badly(number / 10) } else { ground.end_well() },
            );
        }
    });
    eprintln!("soak: {AT_ONCE} at once took {:.1?}", begun.elapsed());
    before.assert_nothing_is_left("a hundred at once");

    let (total, done) = (in_a_row(), AtomicUsize::new(0));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..ROWS {
            scope.spawn(|| {
                loop {
                    let number = done.fetch_add(1, Ordering::Relaxed);
                    if number >= total {
                        break;
                    }
                    if number % 50 == 49 {
                        ground.end_badly(number / 50)
                    } else {
                        ground.end_well()
                    }
                    if (number + 1) % 1_000 == 0 {
                        eprintln!("soak: {} of {total}, {:.0?}", number + 1, begun.elapsed());
                    }
                }
            });
        }
    });
    let each = begun.elapsed() / u32::try_from(total.max(1)).expect("a count of runs");
    eprintln!("soak: {total} in {ROWS} rows took {:.1?}, {each:.2?} a run", begun.elapsed());
    before.assert_nothing_is_left("ten thousand in a row");
}
