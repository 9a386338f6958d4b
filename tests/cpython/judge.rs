//! Compares inside with outside, and the difference with the committed list.

use crate::outcome::{inside, outside};
use crate::stage::stage;
use crate::support;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Why a test cannot pass in the jail.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Excuse {
    reason: String,
    /// The denied call; absent where a test is in want of a module that the runtime leaves out.
    denied: Option<String>,
    tests: BTreeSet<String>,
}

/// The committed list of this version: module, then its excuses. Empty for a version that has none.
pub(crate) fn listed() -> BTreeMap<String, Vec<Excuse>> {
    let path = support::checkout().join("tests/cpython").join(format!("{}.json", stage().version));
    let Ok(text) = fs::read(&path) else { return BTreeMap::new() };
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn module(name: &str) {
    let control = outside(name);
    let jailed = inside(name, &[]);
    let differing: Vec<_> = jailed.ran.symmetric_difference(&control.ran).collect();
    assert!(differing.is_empty(), "{name}: run inside or outside only: {differing:#?}");
    let failed: BTreeMap<_, _> =
        jailed.notes.iter().filter(|(id, _)| !control.notes.contains_key(*id)).collect();
    eprintln!(
        "{name}: {} tests, {} do not pass outside either, {} only pass outside",
        jailed.ran.len(),
        control.notes.len(),
        failed.len()
    );
    assert!(failed.len() * 10 <= jailed.ran.len(), "{name}: more than a tenth fail in the jail: {failed:#?}");
    let excuses = listed().remove(name).unwrap_or_default();
    let excused: BTreeSet<_> = excuses.iter().flat_map(|excuse| &excuse.tests).collect();
    if listed().is_empty() {
        eprintln!("{name}: no list for Python {}, judged by the tenth alone: {failed:#?}", stage().version);
        return;
    }
    let new: Vec<_> = failed.iter().filter(|(id, _)| !excused.contains(*id)).collect();
    let stale: Vec<_> = excused.iter().filter(|id| !failed.contains_key(*id)).collect();
    assert!(
        new.is_empty() && stale.is_empty(),
        "{name}: fail in the jail and are not listed: {new:#?}\nare listed and pass: {stale:#?}"
    );
    for excuse in &excuses {
        assert!(!excuse.reason.is_empty() && !excuse.tests.is_empty(), "{name}: {excuse:?}");
        let Some(call) = &excuse.denied else { continue };
        // Each alone, so that the denial is this test's own.
        for id in &excuse.tests {
            let alone = inside(name, &[id]);
            assert!(alone.denied.contains(call), "{id}: {call} is not denied, but {:?}", alone.denied);
        }
    }
}
