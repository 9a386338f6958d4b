//! Cuts a program down to what still shows a finding.

use super::program::Program;

/// The smallest program that was found in so many tries; `shows` says whether one still does.
pub fn minimise(program: Program, tries: usize, mut shows: impl FnMut(&Program) -> bool) -> Program {
    let mut left = tries;
    let mut best = program;
    let mut test = |candidate: &Program, left: &mut usize| {
        *left = left.saturating_sub(1);
        shows(candidate)
    };
    // What needs no race is in one thread.
    let flat =
        Program { threads: vec![best.threads.concat()], last: best.last.clone(), data: best.data.clone() };
    if left > 0 && test(&flat, &mut left) {
        best = flat;
    }
    if left > 0 && !best.last.is_empty() {
        let without = Program { last: Vec::new(), ..best.clone() };
        if test(&without, &mut left) {
            best = without;
        }
    }
    for thread in 0..best.threads.len() {
        let mut size = best.threads.get(thread).map_or(0, Vec::len).div_ceil(2);
        while size > 0 && left > 0 {
            let mut at = 0;
            while left > 0 && at < best.threads.get(thread).map_or(0, Vec::len) {
                let mut candidate = best.clone();
                if let Some(calls) = candidate.threads.get_mut(thread) {
                    let end = (at + size).min(calls.len());
                    calls.drain(at..end);
                }
                if test(&candidate, &mut left) {
                    best = candidate;
                } else {
                    at += size;
                }
            }
            size = if size == 1 { 0 } else { size.div_ceil(2) };
        }
    }
    best.threads.retain(|thread| !thread.is_empty());
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::grammar::{Targets, program};

    #[test]
    fn two_calls_that_need_each_other_are_what_is_left() {
        let whole = program(5, 0, &Targets::default());
        let (first, second) = (whole.threads[1][300].clone(), whole.threads[2][7].clone());
        let shows = |candidate: &Program| {
            let calls = candidate.threads.concat();
            let at = calls.iter().position(|call| *call == first);
            at.is_some_and(|at| calls[at..].contains(&second))
        };
        let small = minimise(whole.clone(), 400, shows);
        assert_eq!(small.threads, [vec![first.clone(), second.clone()]]);
        assert!(small.last.is_empty());
        // Without a try nothing is cut.
        assert_eq!(minimise(whole.clone(), 0, shows), whole);
    }
}
