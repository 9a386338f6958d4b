//! Refused before anything is cloned: input, skill, policy.

use super::support::{Ran, Skill, policy};
use super::{assert_end, assert_error};
use serde_json::{Value, json};

/// Nothing ran: no layer was applied, no time was used, nothing was said.
#[track_caller]
fn assert_nothing_ran(ran: &Ran) {
    assert_eq!(ran.report["layers"], json!([]));
    assert_eq!(ran.report["usage"]["wall_ms"], 0);
    assert_eq!((&ran.report["exit_code"], &ran.report["signal"]), (&Value::Null, &Value::Null));
    assert_eq!(ran.stdout(), "");
}

const CONTRACT: &str = r#"{"scripts": {"main.py": {"description": "Runs.", "parameters": {"type": "object", "properties": {
    "text": {"type": "string", "description": "d", "maxLength": 5},
    "mode": {"type": "string", "description": "d", "maxLength": 9, "enum": ["fast", "slow"]},
    "n": {"type": "integer", "description": "d", "minimum": 1, "maximum": 9},
    "flag": {"type": "boolean", "description": "d"}}, "required": ["text"]}}}}"#;

#[test]
fn input_rejected_by_each_rule_with_its_pointer() {
    let skill = Skill::new("print('ran')");
    skill.write("xray.json", CONTRACT);
    let long = format!(r#"{{"text": "{}"}}"#, "x".repeat(4096));
    for (input, pointer, reason) in [
        (&b""[..], "input:", "empty"),
        (b"[]", "input:", "not an object"),
        (b"{} {}", "input:", "after the end"),
        (b"{\"text\": \"\xff\"}", "input:", "UTF-8"),
        (br#"{"text": "a", "text": "b"}"#, "/text", "twice"),
        (br#"{"text": "a", "x": 1}"#, "/x", "no such key"),
        (br#"{"text": 1}"#, "/text", "where a text belongs"),
        (b"{}", "/text", "required key is missing"),
        (br#"{"text": "abcdef"}"#, "/text", "at most 5"),
        (br#"{"text": "a\u0000"}"#, "/text", "control character"),
        (br#"{"text": "a", "n": 10}"#, "/n", "above 9"),
        (br#"{"text": "a", "n": 1.5}"#, "/n", "not an integer"),
        (br#"{"text": "a", "mode": "other"}"#, "/mode", "not one of"),
        (br#"{"text": "a", "flag": 1}"#, "/flag", "where a boolean belongs"),
        (long.as_bytes(), "input:", "more than 4096 bytes"),
    ] {
        let ran = skill.run().input(input).go();
        assert_end(&ran, "input_rejected", 120);
        assert_error(&ran, "input_rejected", pointer);
        assert_error(&ran, "input_rejected", reason);
        assert!(ran.report["error"]["hint"].is_string(), "{ran:#?}");
        assert_nothing_ran(&ran);
    }
    let good = skill.run().input(r#"{"text": "abcde", "n": 9, "mode": "slow", "flag": true}"#).go();
    assert_end(&good, "ok", 0);
}

#[test]
fn input_rejected_for_files_that_cannot_come_in() {
    let skill = Skill::new("print('ran')");
    for (words, id, reason) in [
        (&["--in", "a=/nonexistent"][..], "in_rejected", "/nonexistent"),
        (&["--in", "a/b=/dev/null"], "in_rejected", "without `/`"),
        (&["--in", "..=/dev/null"], "in_rejected", "not `.` or `..`"),
        (&["--in", "a=/dev/null", "--in", "a=/dev/null"], "in_rejected", "twice"),
        (&["--in", "a=/dev/zero"], "in_rejected", "16777216"),
        (&["--input", "/nonexistent"], "input_unreadable", "/nonexistent"),
        (&["--input", "/"], "input_unreadable", "directory"),
    ] {
        let ran = skill.run().args(words).go();
        assert_end(&ran, "input_rejected", 120);
        assert_error(&ran, id, reason);
        assert!(ran.report["error"]["hint"].is_string(), "{ran:#?}");
        assert_nothing_ran(&ran);
    }
}

#[test]
fn skill_rejected_with_the_rule_that_was_broken() {
    type Case<'a> = (&'a str, &'a str, fn(&Skill));
    let good = || Skill::new("print('ran')");
    let cases: [Case<'_>; 7] = [
        ("main.py", "SKILL.md", |skill| std::fs::remove_file(skill.path().join("SKILL.md")).unwrap()),
        ("other.py", "other.py", |_| ()),
        ("main.py", "xray.json", |skill| skill.write("xray.json", "{")),
        ("main.py", "name", |skill| {
            skill
                .write("SKILL.md", "---\nname: another\ndescription: d\nruntime: cubesandbox::python\n---\n");
        }),
        ("main.py", "no scripts to run", |skill| {
            std::fs::remove_file(skill.path().join("xray.json")).unwrap();
            skill.write("SKILL.md", "---\nname: probe\ndescription: d\n---\n");
        }),
        ("main.py", "PATH", |skill| skill.write(".skillenv", "PATH=/bin\n")),
        ("main.py", "link", |skill| {
            std::os::unix::fs::symlink("/etc/passwd", skill.path().join("scripts/link.txt")).unwrap();
        }),
    ];
    for (script, word, spoil) in cases {
        let skill = good();
        spoil(&skill);
        let ran = super::support::Run::new(&skill.path(), script).go();
        assert_end(&ran, "skill_rejected", 121);
        assert_error(&ran, "skill_rejected", word);
        assert_nothing_ran(&ran);
    }
    assert_end(&good().run().go(), "ok", 0);
}

#[test]
fn skill_rejected_for_a_set_that_there_is_not() {
    let skill = Skill::new("print('ran')");
    let front = |set: &str| {
        format!(
            "---\nname: probe\ndescription: d\nruntime: cubesandbox::python\nmetadata:\n  requirements: {set}\n---\n"
        )
    };
    skill.write("SKILL.md", &front("dtaa"));
    let ran = skill.run().go();
    assert_end(&ran, "skill_rejected", 121);
    assert_error(&ran, "requirements", "dtaa: no such set");
    assert!(ran.report["error"]["hint"].as_str().unwrap().contains("data and tfrobot"), "{ran:#?}");
    assert_nothing_ran(&ran);
    // A set that there is, and that this runtime lacks, is the host's matter.
    skill.write("SKILL.md", &front("data"));
    assert_end(&skill.run().go(), "setup_failed", 125);
}

#[test]
fn skill_rejected_for_drift_from_the_manifest() {
    let skill = Skill::new("print('ran')");
    let manifest = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    let output = std::process::Command::new(super::support::SKILLJAIL)
        .args(["manifest", "build", "--skills"])
        .arg(skill.path().parent().unwrap())
        .output()
        .unwrap();
    assert!(output.status.success() && !output.stdout.is_empty(), "{output:?}");
    std::fs::write(manifest.path(), &output.stdout).unwrap();
    let run = || skill.run().args(["--manifest"]).args([manifest.path()]).go();
    assert_end(&run(), "ok", 0);
    skill.write("scripts/main.py", "print('other')");
    let ran = run();
    assert_end(&ran, "skill_rejected", 121);
    assert_error(&ran, "manifest_drift", "main.py");
    assert_nothing_ran(&ran);
}

#[test]
fn policy_rejected_for_each_kind_of_fault() {
    type Case<'a> = (&'a str, fn(&mut Value));
    let skill = Skill::new("print('ran')");
    let cases: [Case<'_>; 8] = [
        ("unknown field", |policy| policy["limits"]["wal"] = json!({"value": "1 s", "reason": "r"})),
        ("missing field", |policy| drop(policy["limits"].as_object_mut().unwrap().remove("memory"))),
        ("reason", |policy| policy["limits"]["cpu"]["reason"] = json!(" ")),
        ("whole number", |policy| policy["limits"]["memory"]["value"] = json!("lots")),
        ("1023", |policy| policy["limits"]["open_files"]["value"] = json!(4096)),
        ("no filter", |policy| policy["filter"] = json!("open")),
        ("outer_ids", |policy| policy["outer_ids"]["first"] = json!(0)),
        ("version", |policy| policy["version"] = json!(2)),
    ];
    for (word, spoil) in cases {
        let file = policy(spoil);
        let ran = skill.run().args(["--policy"]).args([file.path()]).go();
        assert_end(&ran, "policy_rejected", 122);
        assert_error(&ran, "policy_rejected", word);
        assert_nothing_ran(&ran);
    }
    for word in ["nosuch", "/nonexistent.json", "/"] {
        let ran = skill.run().args(["--policy", word]).go();
        assert_end(&ran, "policy_rejected", 122);
        assert!(ran.report["error"]["hint"].is_string(), "{ran:#?}");
        assert_nothing_ran(&ran);
    }
    let good = policy(|_| ());
    assert_end(&skill.run().args(["--policy"]).args([good.path()]).go(), "ok", 0);
}

/// A missing secret refuses the run, names what is missing and says how to hand it over.
#[test]
fn input_rejected_for_a_missing_secret() {
    let skill = Skill::with_files("print('ran')", &[(".skillenv", "API_KEY=\nOTHER_KEY=\n")]);
    let ran = skill.run().go();
    assert_end(&ran, "input_rejected", 120);
    assert_error(&ran, "secrets_refused", "API_KEY");
    assert_error(&ran, "secrets_refused", "--secrets");
    assert!(!ran.report["error"]["cause"].as_str().unwrap().contains("hint:"), "{ran:#?}");
    assert_eq!(ran.stdout(), "");
    assert_eq!(ran.report["secrets"], json!([]));
    assert_eq!(ran.report["usage"]["wall_ms"], 0, "it never came to exec");
}
