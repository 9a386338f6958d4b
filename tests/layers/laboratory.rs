//! The laboratory itself: it says what it is, and nothing but it can leave a wall out.

use crate::bench::LAB;
use crate::support::{SKILLJAIL, Skill, feed, runtime};
use serde_json::{Value, json};
use skilljail::layer::without::MARKER;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Command;

fn holds(program: &str, text: &str) -> bool {
    let bytes = std::fs::read(program).unwrap();
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

fn run(words: &[&str], script: &str) -> Value {
    let skill = Skill::new(script);
    let mut command = Command::new(LAB);
    command.args(words).args(["run", "--runtime"]).arg(runtime()).arg(skill.path()).arg("main.py");
    let output = feed(command, b"{}");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn only_the_laboratory_holds_the_switch() {
    for text in [MARKER, "laboratory", "mounts.readonly", "LAB_"] {
        assert!(holds(LAB, text), "{text:?}");
    }
    // Even built with the feature, the program itself has neither the words nor what they would turn.
    assert!(!holds(SKILLJAIL, MARKER));
}

#[test]
fn the_program_knows_no_word_that_leaves_a_wall_out() {
    for word in ["--without=seccomp", "--only=landlock", "--canary=/"] {
        let output = Command::new(SKILLJAIL).args(["run", word, "./skill", "main.py"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{word}");
        let output = Command::new(LAB).args(["control", word, "exec", "--", "nowhere"]).output().unwrap();
        assert_ne!(output.status.code(), Some(2), "{word}: the laboratory knows it");
    }
}

#[test]
fn every_document_says_what_was_left_out() {
    let document = run(&["control", "--without", "net.ipc,seccomp,rlimits"], "print(1)");
    assert_eq!((&document["laboratory"], &document["note"]), (&json!(true), &json!(MARKER)));
    let left_out = document["left_out"].as_array().unwrap();
    assert_eq!((left_out.first().unwrap(), left_out.last().unwrap()), (&json!("net.ipc"), &json!("seccomp")));
    assert_eq!(left_out.len(), 14);
    let enforced = |name: &str| {
        let layers = document["layers"].as_array().unwrap();
        layers.iter().find(|layer| layer["name"] == name).unwrap()["enforced"].clone()
    };
    assert_eq!(
        ["mounts", "net", "rlimits", "seccomp"].map(enforced),
        ["full", "partial", "none", "none"].map(Value::from)
    );
}

#[test]
fn an_unknown_wall_is_refused_and_nothing_runs() {
    let output = Command::new(LAB)
        .args(["control", "--without", "seccomp,firewall", "exec", "--", "/usr/bin/true"])
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("\"firewall\" is neither a layer nor a wall"));
}

#[test]
fn trace_lets_denied_calls_through_and_says_what_a_filter_would_need() {
    let script = "import os, socket\nsocket.socket(socket.AF_INET)\npid = os.fork()\nif pid == 0: os._exit(7)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))";
    // The control: the same script in the jail.
    let refused = run(&["control"], script);
    assert_eq!(refused["status"], "script_error");
    let traced = run(&["trace"], script);
    assert_eq!((&traced["status"], &traced["stdout"]["text"]), (&json!("ok"), &json!("7\n")), "{traced:#}");
    assert_eq!(traced["left_out"], json!(["seccomp"]));
    assert_eq!(traced["laboratory"], true);
    let needs = traced["needs"].as_array().unwrap();
    let socket = needs.iter().find(|need| need["call"] == "socket").unwrap();
    assert_eq!(socket["entry"]["call"], "socket");
    assert_eq!(socket["entry"]["when"][0], json!({"arg": "domain", "eq": 2}), "{socket}");
    assert!(
        needs.iter().any(|need| ["clone", "fork"].contains(&need["call"].as_str().unwrap())),
        "{needs:?}"
    );
}

#[test]
fn a_jail_without_walls_is_still_not_the_callers_root() {
    let place = tempfile::tempdir().unwrap();
    let canary = place.path().join("canary");
    std::fs::create_dir(&canary).unwrap();
    std::fs::set_permissions(&canary, std::fs::Permissions::from_mode(0o777)).unwrap();
    let words = ["control", "--without", "all", "--canary", canary.to_str().unwrap()];
    let document = run(&words, "open('/canary/made', 'x').close()");
    assert_eq!(document["status"], "ok", "{document:#}");
    let made = std::fs::metadata(canary.join("made")).unwrap();
    assert_ne!((made.uid(), made.gid()), (0, 0));
    // The control: made by us it belongs to us.
    std::fs::write(canary.join("ours"), "").unwrap();
    let ours = std::fs::metadata(canary.join("ours")).unwrap().uid();
    assert_eq!(ours, nix::unistd::geteuid().as_raw());
    assert_eq!(made.uid() == ours, ours != 0);
}
