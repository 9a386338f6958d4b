//! The three complete examples of the TFRobot protocol behave as its text says.

use super::package::{fixtures, skilljail, stderr, stdout};
use skilljail::skill::check::{Runnable, check};
use skilljail::skill::input::Input;
use skilljail::skill::tier::Tier;
use skilljail::skill::{Skill, SkillError};
use std::fs;
use std::path::{Path, PathBuf};

fn example(name: &str) -> PathBuf {
    fixtures().join("tfrobot").join(name)
}

/// A copy that a test may change.
fn copy(name: &str, below: &Path) -> PathBuf {
    fn all(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let target = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                all(&entry.path(), &target);
            } else {
                fs::copy(entry.path(), target).unwrap();
            }
        }
    }
    let target = below.join(name);
    all(&example(name), &target);
    target
}

#[test]
fn all_three_are_without_findings() {
    for (name, tier, runnable) in [
        ("deploy-helper", Tier::PromptOnly, Runnable::No("no scripts to run")),
        ("csv-aggregator", Tier::CubesandboxPython, Runnable::Yes),
        ("video-thumbnail", Tier::Cubesandbox, Runnable::No("engine unavailable")),
    ] {
        let verdict = check(&example(name), None).unwrap();
        assert_eq!(verdict.findings, [], "{name}");
        assert_eq!((verdict.tier, verdict.runnable, verdict.standard), (tier, runnable, true), "{name}");
    }
}

#[test]
fn deploy_helper_is_read_and_not_run() {
    let skills = fixtures().join("tfrobot");
    let skills = skills.to_str().unwrap();
    let words = ["read", "--skills", skills, "deploy-helper", "SKILL.md", "--expand", "--session", "s-42"];
    let text = stdout(&skilljail(&words));
    assert!(text.contains("Read `skill://deploy-helper/references/checklist.md`"), "{text}");
    assert!(text.contains("The session is s-42;") && text.contains("`$HOME`"), "{text}");
    assert!(text.contains("echo \"$TFROBOT_SKILL_DIR\""), "{text}");
    let output = skilljail(&["read", "--skills", skills, "deploy-helper", "references/checklist.md"]);
    assert!(stdout(&output).starts_with("# Before a deployment"));
    let error = Skill::open(&example("deploy-helper")).unwrap().script("any.py").unwrap_err().to_string();
    assert!(error.contains("no scripts to run"), "{error}");

    // What belongs to other runtimes is refused, with the rule and the file.
    let dir = tempfile::tempdir().unwrap();
    for (file, rule) in
        [(".skillenv", "SJ-K052"), (".cubesandbox.dockerfile", "SJ-K050"), (".e2b.dockerfile", "SJ-K050")]
    {
        let root = copy("deploy-helper", &dir.path().join(file.trim_start_matches('.')));
        fs::write(root.join(file), "").unwrap();
        let error = Skill::open(&root).unwrap_err().to_string();
        assert!(
            error.contains(rule) && error.contains(file) && error.contains("prompt-only refuses"),
            "{error}"
        );
    }
}

#[test]
fn csv_aggregator_keeps_its_contract_and_its_environment() {
    let skill = Skill::open(&example("csv-aggregator")).unwrap();
    let script = skill.script("aggregate.py").unwrap();
    assert_eq!(script.path, "scripts/aggregate.py");
    let check = |text: &str| Input::check(script.contract, text.as_bytes(), 4_096);
    assert!(check(r#"{"csv": "a,b\nx,1\n", "group": "a", "value": "b"}"#).is_ok());
    for (text, pointer) in [
        (r#"{"group": "a", "value": "b"}"#, "/csv"),
        (r#"{"csv": "", "group": "a", "value": "b", "limit": 0}"#, "/limit"),
        (r#"{"csv": "", "group": "a", "value": "b", "limit": "3"}"#, "/limit"),
        (r#"{"csv": "", "group": "a", "value": "b", "path": "/etc/passwd"}"#, "/path"),
    ] {
        assert_eq!(check(text).unwrap_err().pointer, pointer, "{text}");
    }
    assert_eq!(skill.env().literals, [("ROUNDING_DIGITS".to_owned(), "2".to_owned())]);
    assert_eq!(skill.env().secrets, ["LEDGER_TOKEN"]);
    let loaded = skill.load().unwrap();
    assert!(loaded.files.iter().all(|file| file.path != ".skillenv"));
    let output = skilljail(&["read", example("csv-aggregator").to_str().unwrap(), ".skillenv"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("403 access denied: protected file"));
    let text = stdout(&skilljail(&[
        "list",
        "--skills",
        fixtures().join("tfrobot").to_str().unwrap(),
        "--format",
        "json",
    ]));
    let list: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(list["skills"][0]["scripts"][0]["parameters"]["properties"]["limit"]["maximum"], 100);

    // A managed runtime refuses both dockerfiles.
    let dir = tempfile::tempdir().unwrap();
    let root = copy("csv-aggregator", dir.path());
    fs::write(root.join(".cubesandbox.dockerfile"), "FROM x").unwrap();
    assert!(matches!(Skill::open(&root), Err(SkillError::Rejected { .. })));
}

#[test]
fn video_thumbnail_brings_its_own_image() {
    let skill = Skill::open(&example("video-thumbnail")).unwrap();
    let error = skill.script("thumbnail.sh").unwrap_err().to_string();
    assert!(error.contains("runtime cubesandbox: engine unavailable"), "{error}");
    let output =
        skilljail(&["read", example("video-thumbnail").to_str().unwrap(), ".cubesandbox.dockerfile"]);
    assert!(stderr(&output).contains("403 access denied: protected file"));
    let dir = tempfile::tempdir().unwrap();
    let root = copy("video-thumbnail", dir.path());
    fs::rename(root.join(".cubesandbox.dockerfile"), root.join(".e2b.dockerfile")).unwrap();
    let error = Skill::open(&root).unwrap_err().to_string();
    assert!(
        error.contains("SJ-K051")
            && error.contains("SJ-K050")
            && error.contains("requires .cubesandbox.dockerfile"),
        "{error}"
    );
}
