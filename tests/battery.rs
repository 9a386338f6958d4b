//! The battery itself: nothing escapes on this host, by every shipped profile, and a battery that finds something says so
//! in its exit code and in every format.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::Value;
use std::process::{Command, Output};
use support::{SKILLJAIL, checkout, policy, policy_of, runtime};

fn attack(words: &[&str]) -> Output {
    let mut command = Command::new(SKILLJAIL);
    command.args(["attack", "--runtime"]).arg(runtime()).args(words);
    command.output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The whole battery, as `skilljail attack` runs it for everybody.
#[test]
fn nothing_escapes_and_everything_honest_works() {
    let output = attack(&["--format", "json"]);
    let result: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let wrong: Vec<&Value> = result["attacks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|attack| attack["verdict"] != "contained" || attack["as_expected"] != true)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let broken: Vec<&Value> =
        result["probes"].as_array().unwrap().iter().filter(|probe| probe["worked"] != true).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    assert_eq!(result["residue"], serde_json::json!([]));
    assert!(result["of"].as_u64().unwrap() >= 120 && result["probes"].as_array().unwrap().len() >= 25);
    assert_eq!((output.status.code(), &result["holds"]), (Some(0), &Value::Bool(true)));
    let last = text(&output.stderr).lines().last().unwrap().to_owned();
    assert_eq!(last, format!("contained {0} of {0}, escaped 0", result["of"]));
}

#[test]
fn the_narrowest_profile_contains_them_too() {
    // A delegated cgroup is what tests/vm.rs has; here everything else of the profile is tried.
    let strict = policy_of("strict", |policy| policy["cgroup"]["mode"] = "optional".into());
    let strict = strict.path().to_str().unwrap();
    let output = attack(&["--policy", strict, "--only", "process,kernel-surface,ipc,resources"]);
    assert!(text(&output.stdout).trim_end().ends_with("escaped 0"), "{}", text(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

/// The control of the harness: a policy that allows more than it should is found out, and every format says so.
#[test]
fn a_policy_that_lets_something_through_is_told() {
    // Room for more than a gigabyte, and no deadline worth the name.
    let wide = policy(|policy| policy["limits"]["memory"]["value"] = "3 GiB".into());
    let path = wide.path().to_str().unwrap();
    let words = |format| ["--policy", path, "--only", "resources/memory,process/fork", "--format", format];
    let output = attack(&words("text"));
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("resources/memory: ") && said.contains("escaped: stdout has the proof"), "{said}");
    assert_eq!(said.lines().last(), Some("contained 1 of 2, escaped 1"));
    let junit = text(&attack(&words("junit")).stdout);
    assert!(junit.contains("<testcase classname=\"resources\" name=\"memory\">"), "{junit}");
    assert_eq!(junit.matches("<failure").count(), 1);
    let sarif: Value = serde_json::from_slice(&attack(&words("sarif")).stdout).unwrap();
    let place =
        &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(*place, "tests/attacks/resources/memory/attack.py");
    assert!(checkout().join(place.as_str().unwrap()).exists());
}

#[test]
fn a_word_that_names_no_attack_runs_none() {
    let output = attack(&["--only", "network,networks"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert!(text(&output.stderr).contains("--only networks: neither a class nor CLASS/NAME"));
}
