//! Runs the examples of a shipped skill: `examples/SCRIPT[.VARIANT].input.json` and what must come out.

use crate::support::{self, Ran, Run};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn skill(name: &str) -> PathBuf {
    support::checkout().join("skills").join(name)
}

/// The examples of a skill, as `SCRIPT[.VARIANT]`, sorted.
pub(crate) fn of(name: &str) -> Vec<String> {
    let folder = skill(name).join("examples");
    let entries = fs::read_dir(&folder).expect("a runnable skill has examples");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    let mut examples: Vec<_> =
        names.filter_map(|name| name.strip_suffix(".input.json").map(str::to_owned)).collect();
    examples.sort();
    assert!(!examples.is_empty(), "{name} has no example");
    examples
}

fn file(name: &str, example: &str, end: &str) -> PathBuf {
    skill(name).join("examples").join(format!("{example}.{end}.json"))
}

/// The run of an example, not started yet.
pub(crate) fn prepare(runtime: &Path, name: &str, example: &str) -> Run {
    let stem = example.split('.').next().expect("a split has a first part");
    let input = fs::read(file(name, example, "input")).expect("the input");
    Run::with_runtime(runtime, &skill(name), &format!("{stem}.py")).input(input)
}

/// stdout is the expected answer to the byte, and the exit code is 1 exactly when it is an error.
pub(crate) fn assert_answered(name: &str, example: &str, ran: &Ran) {
    let expected = fs::read_to_string(file(name, example, "output")).expect("the expected output");
    let answer: serde_json::Value = serde_json::from_str(&expected).expect("it is JSON");
    let failed = answer.get("error").is_some();
    assert_eq!(ran.stdout(), expected, "{name} {example}: {}", ran.script_stderr());
    assert_eq!(
        (ran.status(), ran.code),
        if failed { ("script_error", 1) } else { ("ok", 0) },
        "{name} {example}"
    );
    // matplotlib asks `fc-list` for the host's fonts once, and does without. Nothing else meets a denial.
    let usual: &[&str] = if name == "plot-png" { &["vfork", "clone"] } else { &[] };
    for denial in ran.report["denials"].as_array().expect("a document has denials") {
        let call = denial["syscall"].as_str().expect("a denial names its call");
        assert!(usual.contains(&call), "{name} {example}: {denial:#}");
    }
}

/// Runs every example of a skill and compares.
pub(crate) fn assert_all(runtime: &Path, name: &str) {
    for example in of(name) {
        assert_answered(name, &example, &prepare(runtime, name, &example).go());
    }
}
