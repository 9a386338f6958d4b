//! setup_failed: nothing of the script ran, and layer, step, errno, cause and hint are there.

use super::support::{Ran, SKILLJAIL, Skill, checkout, policy, runtime};
use super::{assert_end, assert_error};
use serde_json::{Value, json};
use std::process::Command;

#[track_caller]
fn assert_failed(ran: &Ran, id: &str, words: &str) {
    assert_end(ran, "setup_failed", 125);
    assert_error(ran, id, words);
    let hint = ran.report["error"]["hint"].as_str().unwrap_or_default();
    assert!(!hint.is_empty() && !hint.contains("strace"), "a hint that helps: {ran:#?}");
    assert_eq!(ran.stdout(), "");
    assert_eq!((&ran.report["exit_code"], &ran.report["signal"]), (&Value::Null, &Value::Null));
    assert_eq!(ran.report["usage"]["wall_ms"], 0);
    for layer in ran.report["layers"].as_array().unwrap().iter().filter(|layer| layer["name"] == "seccomp") {
        assert_eq!(layer["enforced"], "none", "{ran:#?}");
    }
}

#[test]
fn without_a_runtime() {
    let skill = Skill::new("print('ran')");
    let mut command = Command::new(SKILLJAIL);
    command.args(["run", "--json", "--runtime", "/nonexistent"]).arg(skill.path()).arg("main.py");
    let ran = Ran::of(&super::support::feed(command, b"{}"));
    assert_failed(&ran, "runtime", "skilljail runtime build");
}

#[test]
fn with_a_runtime_that_is_not_the_pinned_one() {
    let skill = Skill::new("print('ran')");
    let other = policy(|policy| policy["runtime"]["digest"] = json!(format!("sha256:{}", "0".repeat(64))));
    let ran = skill.run().args(["--policy"]).args([other.path()]).go();
    assert_failed(&ran, "runtime_not_pinned", "pins the runtime");
    // Control: the digest of the tree that is there.
    let text = std::fs::read_to_string(runtime().join("runtime.json")).unwrap();
    let lock: Value = serde_json::from_str(&text).unwrap();
    let right = policy(|policy| policy["runtime"]["digest"] = lock["digest"].clone());
    assert_end(&skill.run().args(["--policy"]).args([right.path()]).go(), "ok", 0);
}

#[test]
fn strict_without_a_cgroup() {
    let ran = Skill::new("print('ran')").run().args(["--policy", "strict"]).go();
    assert_failed(&ran, "cgroup_required", "--cgroup DIR");
    assert_eq!(ran.report["error"]["layer"], "cgroup");
}

#[test]
fn with_a_cgroup_that_is_none() {
    for policy in ["default", "strict"] {
        let skill = Skill::new("print('ran')");
        let ran = skill.run().args(["--policy", policy, "--cgroup", "/tmp"]).go();
        assert_failed(&ran, "cgroup_not_v2", "cgroup v2");
    }
}

#[test]
fn below_the_landlock_floor() {
    let floor = policy(|policy| {
        policy["landlock"]["require_abi"] = json!(10);
        policy["landlock"]["target_abi"] = json!(10);
    });
    let ran = Skill::new("print('ran')").run().args(["--policy"]).args([floor.path()]).go();
    if ran.status() == "ok" {
        eprintln!("SKIP: this kernel has Landlock ABI 10");
        return;
    }
    assert_failed(&ran, "plan", "requires 10");
    // The doctor says it beforehand, and of the policy that runs it says nothing of the kind.
    let doctor = |word: &str| {
        let output = Command::new(SKILLJAIL).args(["doctor", "--format", "json", "--policy", word]).output();
        let output = output.expect("the doctor starts");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
        let losses = document["losses"].as_array().expect("a list").clone();
        let fatal = |loss: &&serde_json::Value| loss["cost"] == "nothing_runs";
        let mut layers: Vec<_> = losses.iter().filter(fatal).map(|loss| loss["layer"].clone()).collect();
        layers.dedup();
        (output.status.code(), layers)
    };
    assert_eq!(doctor(floor.path().to_str().expect("UTF-8")), (Some(1), vec![json!("landlock")]));
    assert_eq!(doctor("default"), (Some(0), vec![]));
}

/// Nested in a user namespace that allows no other.
#[test]
fn where_no_user_namespace_can_be_made() {
    let skill = Skill::new("print('ran')");
    let ran = skill
        .run()
        .inside(&[
            "unshare",
            "-Ur",
            "sh",
            "-c",
            "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"",
            "sh",
        ])
        .go();
    if nix::unistd::geteuid().is_root() {
        assert_failed(&ran, "userns_limit", "max_user_namespaces");
        assert_eq!(ran.report["error"]["errno"], 28, "ENOSPC");
        assert_eq!(ran.report["error"]["step"], "clone3");
    } else {
        // Inside it is root, whose runtime must be root's: the tree belongs to nobody there.
        assert_end(&ran, "setup_failed", 125);
    }
}

#[test]
fn with_too_few_descriptors() {
    let skill = Skill::new("print('ran')");
    let ran = skill.run().under("ulimit -n 64").go();
    if nix::unistd::geteuid().is_root() && ran.status() == "ok" {
        // Root with CAP_SYS_RESOURCE may raise it, so it does: the policy's limit is what holds inside.
        assert_end(&ran, "ok", 0);
    } else {
        assert_failed(&ran, "open_files_limit", "ulimit -Hn 1024");
        assert_eq!(ran.report["error"]["layer"], "fds");
    }
    assert_end(&skill.run().under("ulimit -n 1024").go(), "ok", 0);
}

#[test]
fn with_no_process_left() {
    if nix::unistd::geteuid().is_root() {
        eprintln!("SKIP: root's own clone is not counted");
        return;
    }
    let ran = Skill::new("print('ran')").run().under("ulimit -u 1 2>/dev/null || ulimit -p 1").go();
    assert_failed(&ran, "process_limit", "RLIMIT_NPROC");
}

#[test]
fn with_files_of_no_size() {
    let ran = Skill::new("print('ran')").run().under("ulimit -f 0").go();
    assert_failed(&ran, "file_size_limit", "ulimit -f");
}

/// Hosts that refuse a call, as stock containers and hardened kernels do.
#[test]
fn where_a_call_is_refused() {
    let skill = Skill::new("print('ran')");
    let fixture = checkout().join("tests/fixtures/broken_host.py");
    let on = |mode: &str| -> Ran {
        let python = ["/usr/bin/python3", "/usr/local/bin/python3"];
        let python = python.into_iter().find(|path| std::path::Path::new(path).exists()).unwrap_or("python3");
        skill.run().inside(&[python, "-B", fixture.to_str().unwrap(), mode]).go()
    };
    for (mode, layer, errno) in [
        ("landlock_create_ruleset=EOPNOTSUPP", "", 0),
        ("pidfd_getfd=EPERM", "supervisor", 1),
        ("pivot_root=EPERM", "mounts", 1),
        ("listener", "seccomp", 16),
    ] {
        let ran = on(mode);
        assert_end(&ran, "setup_failed", 125);
        let error = &ran.report["error"];
        assert!(error["hint"].is_string(), "{mode}: {error:#}");
        assert_ne!(error["id"], "unknown", "{mode}: {error:#}");
        if !layer.is_empty() {
            assert_eq!(
                (&error["layer"], &error["errno"]),
                (&json!(layer), &json!(errno)),
                "{mode}: {error:#}"
            );
        }
        assert_eq!(ran.stdout(), "", "{mode}");
    }
    // Not a wall: it is reported, and the run goes on.
    let ran = on("keyctl=EPERM");
    assert_end(&ran, "ok", 0);
    let privs =
        ran.report["layers"].as_array().unwrap().iter().find(|layer| layer["name"] == "privs").unwrap();
    assert_eq!(privs["details"]["own_keyring"], false);
}

#[test]
fn exec_fails_in_the_same_words() {
    let mut command = Command::new(SKILLJAIL);
    command.args(["exec", "--json", "--policy", "strict", "--ro-bind", "/usr", "--ro-bind", "/lib"]);
    command.args(["--ro-bind", "/lib64", "--", "/usr/bin/true"]);
    let output = super::support::feed(command, b"");
    let ran = Ran::of(&output);
    assert_failed(&ran, "cgroup_required", "--cgroup DIR");
}
