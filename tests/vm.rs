//! Limits that only a delegated cgroup v2 can keep, and an older kernel's Landlock, on a machine of the test's own: Debian's
//! kernel in an emulator, whose first process is `vm/init.py` on the pinned Python.
//!
//! `make test-vm` brings the kernel to `.run/vm/`; the emulator is Debian's qemu-system-x86. Software emulation is enough.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "vm/cpio.rs"]
mod cpio;
mod support;

use cpio::Archive;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

fn kernel() -> PathBuf {
    let folder = support::checkout().join(".run/vm/boot");
    let entries = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}: run `make test-vm`", folder.display()));
    let mut names = entries.map(|entry| entry.unwrap().path());
    names
        .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("vmlinuz"))
        .expect("a kernel is there")
}

fn disk() -> PathBuf {
    let mut archive = Archive::default();
    for folder in ["proc", "sys", "dev", "run", "tmp"] {
        archive.folder(folder);
    }
    archive.console("dev/console");
    archive.tree(support::runtime(), "runtime");
    for (link, target) in [("usr", "runtime/usr"), ("lib", "usr/lib"), ("lib64", "usr/lib64")] {
        archive.link(link, target);
    }
    archive.tree(&support::checkout().join("policies"), "policies");
    archive.file("skilljail", 0o755, &fs::read(support::SKILLJAIL).unwrap());
    let init = fs::read_to_string(support::checkout().join("tests/vm/init.py")).unwrap();
    // The interpreter of the pinned tree, whatever its version.
    let bin = fs::read_dir(support::runtime().join("usr/bin")).unwrap();
    let python = bin.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let python =
        python.into_iter().find(|name| name.starts_with("python3.") && !name.ends_with("_pth")).unwrap();
    archive.file(
        "init",
        0o755,
        init.replacen("/usr/bin/python3.11", &format!("/usr/bin/{python}"), 1).as_bytes(),
    );
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("vm.img");
    fs::write(&path, archive.finish()).unwrap();
    path
}

/// Boots once, also where that fails; every case's line by its name.
fn cases() -> &'static BTreeMap<String, Value> {
    static CASES: OnceLock<Result<BTreeMap<String, Value>, String>> = OnceLock::new();
    CASES
        .get_or_init(boot)
        .as_ref()
        .unwrap_or_else(|text| panic!("the machine did not come to its end:\n{text}"))
}

fn boot() -> Result<BTreeMap<String, Value>, String> {
    let output = Command::new("timeout")
        .args(["900", "qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", "1536", "-smp", "2"])
        .args(["-nodefaults", "-no-reboot", "-nographic", "-serial", "stdio", "-append"])
        .arg("console=ttyS0 quiet panic=-1")
        .arg("-kernel")
        .arg(kernel())
        .arg("-initrd")
        .arg(disk())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("timeout, qemu-system-x86_64: {error}: apt-get install qemu-system-x86"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let found: BTreeMap<String, Value> = text
        .lines()
        .filter_map(|line| line.split_once("@@")?.1.split_once(' '))
        .filter_map(|(name, json)| Some((name.to_owned(), serde_json::from_str(json.trim()).ok()?)))
        .collect();
    if found.contains_key("end") { Ok(found) } else { Err(text) }
}

fn case(name: &str) -> &'static Value {
    let case = cases().get(name).unwrap_or_else(|| panic!("no line for {name}"));
    assert!(case.get("exception").is_none(), "{name}: {}", case["exception"].as_str().unwrap_or_default());
    case
}

fn limit<'a>(case: &'a Value, name: &str) -> &'a Value {
    case["report"]["limits"].as_array().unwrap().iter().find(|limit| limit["name"] == name).unwrap()
}

#[test]
fn a_run_in_a_leaf_of_its_own_says_so_and_leaves_none() {
    let ok = case("ok");
    assert_eq!(ok["report"]["status"], "ok", "{ok:#}");
    assert_eq!(limit(ok, "memory")["backend"], "cgroup2");
    assert_eq!(limit(ok, "memory")["reached"], "no");
    assert_eq!(limit(ok, "threads")["backend"], "cgroup2");
    assert_eq!(ok["leaves"].as_array().unwrap().len(), 0);
}

#[test]
fn an_older_landlock_is_partial_and_says_what_it_lacks() {
    let layers = case("ok")["report"]["layers"].as_array().unwrap();
    let landlock = layers.iter().find(|layer| layer["name"] == "landlock").unwrap();
    assert_eq!(landlock["enforced"], "partial");
    assert_eq!(landlock["details"]["abi"], 2);
    assert!(landlock["details"]["not_handled"].as_array().unwrap().contains(&"truncation".into()));
}

#[test]
fn the_kernels_oom_kill_is_memory_limit() {
    let memory = case("memory");
    assert_eq!(memory["report"]["status"], "memory_limit", "{memory:#}");
    assert_eq!(memory["code"], 127);
    assert_eq!(limit(memory, "memory")["reached"], "yes");
    assert_eq!(memory["leaves"].as_array().unwrap().len(), 0);
}

#[test]
fn a_refused_thread_is_process_limit() {
    let threads = case("threads");
    assert_eq!(threads["report"]["status"], "process_limit", "{threads:#}");
    assert_eq!(threads["code"], 127);
    assert_eq!(limit(threads, "threads")["reached"], "yes");
    assert_eq!(threads["report"]["stdout"]["text"], "63\n");
}

#[test]
fn below_the_floor_nothing_runs() {
    let strict = case("strict_here");
    assert_eq!(strict["report"]["status"], "setup_failed", "{strict:#}");
    assert_eq!(strict["code"], 125);
    assert!(strict["report"]["error"]["cause"].as_str().unwrap().contains("ABI 2"), "{strict:#}");
}

#[test]
fn strict_runs_where_its_needs_are_met() {
    assert_eq!(case("strict_relaxed")["report"]["status"], "ok", "{:#}", case("strict_relaxed"));
}

#[test]
fn a_leaf_of_a_killed_supervisor_is_swept_by_the_next_run() {
    let sweep = case("sweep");
    assert_eq!(sweep["left_by_the_killed"].as_array().unwrap().len(), 1, "the control: it was left");
    assert_eq!(sweep["report"]["status"], "ok");
    assert_eq!(sweep["leaves"].as_array().unwrap().len(), 0);
}

#[test]
fn an_ordinary_user_uses_what_was_delegated() {
    let user = case("user");
    assert_eq!(user["report"]["status"], "ok", "{user:#}");
    assert_eq!(limit(user, "memory")["backend"], "cgroup2");
    assert_eq!(user["leaves"].as_array().unwrap().len(), 0);
}

#[test]
fn what_is_no_cgroup_is_refused() {
    let refused = case("not_a_cgroup");
    assert_eq!(refused["report"]["status"], "setup_failed", "{refused:#}");
    assert_eq!(refused["report"]["error"]["layer"], "cgroup");
}
