//! Nothing is left: no process, namespace, mount or file; whoever dies, whenever.

use super::support::live::{READY, assert_gone, descendants, with_word};
use super::support::{SKILLJAIL, Skill, runtime};
use super::word;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The network and user namespaces that any process on this host is in.
fn namespaces() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        for kind in ["net", "user", "mnt", "pid"] {
            if let Ok(link) = fs::read_link(entry.path().join("ns").join(kind)) {
                found.insert(link.display().to_string());
            }
        }
    }
    found
}

fn of_process(pid: i32) -> Vec<String> {
    let kinds = ["net", "user", "mnt", "pid"].iter();
    kinds.map(|kind| fs::read_link(format!("/proc/{pid}/ns/{kind}")).unwrap().display().to_string()).collect()
}

fn spawn(skill: &Skill, mark: &str, temporary: &std::path::Path) -> std::process::Child {
    let mut command = Command::new(SKILLJAIL);
    command.args(["run", "--json", "--session", mark, "--input"]).arg(skill.path().join("input.json"));
    command.arg("--runtime").arg(runtime()).arg(skill.path()).arg("main.py");
    command.env("TMPDIR", temporary).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn skill(script: &str) -> Skill {
    Skill::with_files(script, &[("input.json", "{}")])
}

fn host_mounts() -> String {
    fs::read_to_string("/proc/self/mountinfo").unwrap()
}

#[test]
fn a_killed_supervisor_takes_the_jail_with_it() {
    let mark = word("killed");
    let skill = skill(&format!(
        "{READY}\nimport signal\nfor n in (1, 2, 15):\n    signal.signal(n, signal.SIG_IGN)\nready()"
    ));
    let temporary = tempfile::tempdir().unwrap();
    let live = super::support::live::Live::new(spawn(&skill, &mark, temporary.path()));
    let script = live.ready();
    let theirs = of_process(script);
    // Held open, so that their numbers are not given to the next namespace of somebody else.
    let kinds = ["net", "user", "mnt", "pid"].iter();
    let held: Vec<_> =
        kinds.map(|kind| fs::File::open(format!("/proc/{script}/ns/{kind}")).unwrap()).collect();
    assert!(with_word(&mark).len() >= 2, "control: the mark is seen");
    assert!(
        theirs.iter().all(|namespace| namespaces().contains(namespace)),
        "control: the namespaces are seen"
    );
    live.signal(Signal::SIGKILL);
    drop(live.output());
    assert_gone(&mark);
    // A process that is dying has no command line any more, but its namespaces for a moment yet.
    let deadline = Instant::now() + Duration::from_secs(20);
    while theirs.iter().any(|namespace| namespaces().contains(namespace)) {
        assert!(Instant::now() < deadline, "a process is still in one of {theirs:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(held);
}

/// At any moment: before clone, during set-up, at exec, while Python starts, while it runs, at the end.
#[test]
fn whenever_the_supervisor_is_killed_nothing_is_left() {
    let mark = word("moment");
    let skill = skill("import time\nfor _ in range(20):\n    time.sleep(0.002)\nprint('done')");
    let temporary = tempfile::tempdir().unwrap();
    let mounts = host_mounts();
    let (mut killed, mut finished) = (0, 0);
    for moment in 0..60u64 {
        let mut child = spawn(&skill, &mark, temporary.path());
        std::thread::sleep(Duration::from_micros(moment * moment * 60));
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        // It is our child and not waited for, so the number is its own still.
        kill(pid, Signal::SIGKILL).unwrap();
        let below = descendants(pid.as_raw());
        if child.wait().unwrap().code().is_some() {
            finished += 1;
        } else {
            killed += 1;
        }
        drop(below);
    }
    assert!(killed >= 20, "{killed} killed, {finished} finished: the moments must lie within the run");
    assert_gone(&mark);
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0, "no temporary file");
    assert_eq!(host_mounts(), mounts);
}

/// Init is killed from outside: the run ends, and says so.
#[test]
fn a_killed_init_ends_the_run() {
    let mark = word("init");
    let skill = skill(&format!("{READY}\nready()"));
    let temporary = tempfile::tempdir().unwrap();
    let live = super::support::live::Live::new(spawn(&skill, &mark, temporary.path()));
    let script = live.ready();
    let init: i32 = super::support::live::status(script, "PPid").parse().unwrap();
    kill(Pid::from_raw(init), Signal::SIGKILL).unwrap();
    let ran = live.finish();
    assert_eq!((ran.status(), ran.code), ("signaled", 137), "{ran:?}");
    assert_eq!(ran.report["error"]["id"], "init_killed");
    assert_gone(&mark);
}

#[test]
fn a_hundred_at_once_leave_nothing() {
    let mark = word("hundred");
    let skill = skill(
        "import os\nopen('/workdir/out/x', 'w').write('x')\nprint(os.getpid(), len(os.listdir('/workdir/out')))",
    );
    let temporary = tempfile::tempdir().unwrap();
    let mounts = host_mounts();
    let children: Vec<_> = (0..100).map(|_| spawn(&skill, &mark, temporary.path())).collect();
    for child in children {
        let ran = super::support::Ran::of(&child.wait_with_output().unwrap());
        assert_eq!((ran.status(), ran.stdout()), ("ok", "2 1\n"), "{ran:?}");
    }
    assert_gone(&mark);
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
    assert_eq!(host_mounts(), mounts);
}

/// Under the `/proc` of a pid namespace further out our own number of the child names another process there: the maps must
/// reach the child all the same.
#[test]
fn the_maps_reach_the_child_under_an_outer_proc() {
    let root = nix::unistd::geteuid().is_root();
    let words: &[&str] =
        if root { &["--pid", "--fork"] } else { &["--user", "--map-current-user", "--pid", "--fork"] };
    let output = std::process::Command::new("unshare")
        .args(words)
        .arg(SKILLJAIL)
        .args([
            "exec",
            "--ro-bind",
            "/usr",
            "--ro-bind",
            "/lib",
            "--ro-bind",
            "/lib64",
            "--",
            "/usr/bin/id",
            "-u",
        ])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "1000\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
