//! CPython's own tests in the jail: the policy is `default` but for its time. Run by `make test-cpython`.
//!
//! The tests are those of the interpreter that the runtime is built from (Debian's `libpython3.N-testsuite`). What does
//! not pass inside and passes outside, with the same interpreter and flags, is the jail's doing: at most a tenth of a
//! module, each in `cpython/N.json` with its reason and with the call that was denied when it runs alone. The list is
//! exact in both directions.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and tells why"
)]

#[path = "cpython/judge.rs"]
mod judge;
#[path = "cpython/outcome.rs"]
mod outcome;
#[path = "cpython/stage.rs"]
mod stage;
mod support;

macro_rules! modules {
    ($($name:ident)*) => { $(#[test] fn $name() { judge::module(stringify!($name)); })* };
}

modules! {
    test_collections
    test_csv
    test_datetime
    test_decimal
    test_hashlib
    test_itertools
    test_json
    test_re
    test_sqlite3
    test_statistics
    test_threading
    test_zoneinfo
}

#[test]
fn the_list_names_only_modules_that_are_run() {
    let ours: Vec<_> = include_str!("cpython.rs").lines().map(str::trim).collect();
    for module in judge::listed().keys() {
        assert!(ours.contains(&module.as_str()), "{module} is listed and never run");
    }
}

#[test]
fn nothing_but_time_is_wider_than_in_the_default_policy() {
    stage::only_time_differs();
}
