//! What the interpreter takes in beside the script: modules of the skill, and nothing that was planted.

use super::seen;
use serde_json::json;

#[test]
fn modules_beside_the_script_import_but_never_shadow_the_library() {
    let python = &seen()["python"];
    assert_eq!(python["beside"], "found");
    // `scripts/json.py` would have set it: the standard library comes first.
    assert_eq!(python["planted"], json!(null));
    let path = python["path"].as_array().unwrap();
    assert_eq!(path.last(), Some(&json!("/skill/scripts")));
    for entry in path.iter().take(path.len() - 1) {
        assert!(entry.as_str().unwrap().starts_with("/usr/lib/"), "{path:?}");
    }
}

#[test]
fn nothing_planted_runs_before_the_script() {
    let python = &seen()["python"];
    assert_eq!(python["planted"], json!(null), "sitecustomize, usercustomize, .pth");
    assert_eq!(python["user_site"], false);
    assert_eq!(python["prefix"], "/usr", "pyvenv.cfg of the skill");
    let flags = &python["flags"];
    for (name, value) in [
        ("isolated", json!(1)),
        ("ignore_environment", json!(1)),
        ("no_user_site", json!(1)),
        ("safe_path", json!(true)),
        ("dont_write_bytecode", json!(1)),
        ("inspect", json!(0)),
    ] {
        assert_eq!(flags[name], value, "{name}");
    }
}

#[test]
fn text_is_utf8_and_stdin_is_the_input_then_its_end() {
    let python = &seen()["python"];
    assert_eq!(python["encoding"], json!(["utf-8", "utf-8"]));
    assert_eq!(python["input"], json!({"text": "hello"}));
    assert_eq!(python["after"], "");
}
