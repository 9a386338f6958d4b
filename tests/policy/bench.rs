//! Figures, not tests: `cargo test --profile quick --test policy -- --ignored --nocapture figures`.
#![allow(clippy::print_stdout, reason = "figures are for eyes")]

use super::trial::Trial;
use skilljail::audit::diff::diff;
use skilljail::policy::Policy;
use std::time::{Duration, Instant};

fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..21)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[10]
}

#[test]
#[cfg_attr(not(feature = "bench"), ignore = "figures, not a test: make bench-policy")]
fn figures() {
    // The worst case: policy and filter both files, so that the filter is compiled twice and everything proven anew.
    let trial = Trial::new().filter(|filter| {
        filter["guarantees"] = super::trial::json("seccomp/default.json")["guarantees"].clone();
    });
    let word = trial.word();
    let load = median(|| assert!(Policy::load(&word).is_ok()));
    let shipped = median(|| assert!(Policy::load("default").is_ok()));
    let (old, new) = (Policy::load("default").unwrap(), Policy::load("strict").unwrap());
    let compare = median(|| assert!(diff(&old, &new).is_ok()));
    println!("load a shipped policy:                     {shipped:?}");
    println!("load and prove a policy and filter file:   {load:?} (at most 20 ms)");
    println!("compare default with strict:               {compare:?} (at most 1 s)");
    println!(
        "instructions of the default filter:        {} (at most 450)",
        new.filter().program().len().max(old.filter().program().len())
    );
}
