//! Every row of the table "the inside of the jail", and every sentence on the process, seen by a script in it.

mod support;
use serde_json::json;
use support::Skill;

#[test]
fn the_result_comes_from_a_jail_that_holds() {
    let ran = Skill::new("print('{\"a\": 1}')").run().go();
    assert_eq!(ran.value(), json!({"a": 1}));
    assert_eq!(ran.code, 0);
    for layer in ran.report["layers"].as_array().unwrap() {
        assert_ne!(layer["enforced"], "none", "{layer}");
    }
}
