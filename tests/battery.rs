//! The battery itself: nothing escapes on this host, by every shipped profile, and a battery that finds something says so
//! in its exit code and in every format.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::Value;
use std::process::{Command, Output, Stdio};
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

/// The residue check finds each kind of thing that a run could leave. In a process and namespaces of its own, since other tests
/// of this program start processes as well.
#[test]
fn what_is_left_is_told() {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "--ipc"]).arg(std::env::current_exe().unwrap());
    let output = command.args(["--exact", "plants", "--ignored", "--nocapture"]).output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// Part of the test above.
#[test]
#[ignore = "what_is_left_is_told runs it in namespaces of its own"]
fn plants() {
    use skilljail::attack::residue::{Snapshot, mark};
    use skilljail::sys::{add_key, keyctl, shm};
    let has_keys = keyctl::join_anonymous_session().is_ok();
    let place = tempfile::tempdir().unwrap();
    let before = Snapshot::take().unwrap();
    assert_eq!(before.left(), Vec::<String>::new());
    let mut sleeper = Command::new("unshare");
    let mut sleeper =
        sleeper.args(["--net", "sleep", "60"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut zombie = Command::new("true").spawn().unwrap();
    // A killed supervisor's jail, say: its parent is gone, and it is ours now.
    let orphan = Command::new("sh").args(["-c", "sleep 60 >/dev/null 2>&1 & echo $!"]).output().unwrap();
    let orphan: i32 = text(&orphan.stdout).trim().parse().unwrap();
    let held = std::fs::File::open("/dev/null").unwrap();
    let file = tempfile::Builder::new().prefix(&mark()).tempfile().unwrap();
    let segment = shm::Segment::create(0x5a11).unwrap();
    if has_keys {
        add_key::to_session(c"planted", b"x").unwrap();
    }
    let flags = nix::mount::MsFlags::empty();
    nix::mount::mount(Some("planted"), place.path(), Some("tmpfs"), flags, None::<&str>).unwrap();
    let left = before.left();
    let path = file.path().display().to_string();
    let mut wanted = vec![
        format!("process {}", sleeper.id()),
        format!("process {}", zombie.id()),
        format!("process {orphan}"),
        "network namespace net:[".to_owned(),
        format!("file {path}"),
        "System V segment 23057".to_owned(),
        "mount ".to_owned(),
        // The file has one as well.
        "2 descriptors".to_owned(),
    ];
    if has_keys {
        wanted.push("key ".to_owned());
    }
    for word in &wanted {
        assert!(left.iter().any(|line| line.starts_with(word.as_str())), "{word}: {left:#?}");
    }
    assert_eq!(left.len(), wanted.len(), "{left:#?}");
    nix::mount::umount(place.path()).unwrap();
    drop((held, file, segment));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    zombie.wait().unwrap();
    let orphan = nix::unistd::Pid::from_raw(orphan);
    nix::sys::signal::kill(orphan, nix::sys::signal::Signal::SIGKILL).unwrap();
    nix::sys::wait::waitpid(orphan, None).unwrap();
    if has_keys {
        // Nobody holds the keyring before it then.
        keyctl::join_anonymous_session().unwrap();
    }
    assert_eq!(before.left(), Vec::<String>::new());
}
