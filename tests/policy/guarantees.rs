//! What a policy promises is proven as it is loaded, and refused where it is not true.

use super::support::Skill;
use super::trial::{Trial, policy};
use serde_json::json;

#[test]
fn a_broken_promise_refuses_the_policy_with_a_witness_and_nothing_runs() {
    let trial = Trial::new().set("/guarantees", json!(["never ptrace", "never mmap(prot has PROT_EXEC)"]));
    let word = trial.word();
    let ran = Skill::new("print('{}')").run().args(["--policy", &word]).go();
    assert_eq!((ran.status(), ran.code), ("policy_rejected", 122));
    let cause = ran.report["error"]["cause"].as_str().unwrap();
    assert!(
        cause.contains("`guarantees[1]` \"never mmap(prot has PROT_EXEC)\"") && cause.contains("prot=0x4"),
        "{cause}"
    );
    assert_eq!(policy(&["show", &word]).code, 122);
    // The control: the promise that is true lets it run.
    let good = Trial::new().set("/guarantees", json!(["never ptrace"]));
    let ran = Skill::new("print('{}')").run().args(["--policy", &good.word()]).go();
    assert_eq!(ran.status(), "ok", "{ran:#?}");
}

#[test]
fn what_is_no_sentence_refuses_it_too() {
    let trial = Trial::new().set("/guarantees", json!(["never raed"]));
    let printed = policy(&["show", &trial.word()]);
    assert_eq!(printed.code, 122);
    assert!(printed.err.contains("did you mean read"), "{}", printed.err);
}

/// The build proves those of the shipped policies; here they are proven once more, by the way of a file.
#[test]
fn shipped_policies_have_promises_and_keep_them() {
    for name in ["default", "egress", "egress-public", "strict", "tfrobot"] {
        let file = super::trial::json(&format!("policies/{name}.json"));
        assert!(file["guarantees"].as_array().unwrap().len() >= 10, "{name}");
        let printed = policy(&["show", &format!("policies/{name}.json"), "--format", "json"]);
        assert_eq!(printed.code, 0, "{name}: {}", printed.err);
    }
}
