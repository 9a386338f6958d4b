//! Each call of the set-up fails in turn, or is the last one that its process makes: nothing of the script has run, the status
//! says which step, nobody waits for a deadline and nothing is left.

use super::support::live::assert_gone;
use super::support::{SKILLJAIL, Skill, checkout, feed, runtime};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A call (with its first argument where it has several meanings), an errno that its man page knows, and the layer that tells.
const FAILS: [(&str, &str, &str); 47] = [
    ("signalfd4", "EMFILE", "supervisor"),
    ("pipe2", "ENFILE", "supervisor"),
    ("socketpair", "EMFILE", "supervisor"),
    ("clone3", "EAGAIN", "supervisor"),
    ("clone3", "ENOMEM", "supervisor"),
    ("clone3", "ENOSPC", "supervisor"),
    ("clone3", "EPERM", "supervisor"),
    ("recvmsg", "ENOMEM", "supervisor"),
    ("pidfd_getfd", "EMFILE", "supervisor"),
    ("pidfd_getfd", "EPERM", "supervisor"),
    ("dup3", "EMFILE", "fds"),
    ("prlimit64", "EPERM", "fds"),
    ("close_range", "ENOMEM", "fds"),
    ("setsid", "EPERM", "idmap"),
    ("chdir", "EACCES", "idmap"),
    ("prctl:1", "EINVAL", "idmap"),
    ("open_tree", "EMFILE", "mounts"),
    ("open_tree", "ENOMEM", "mounts"),
    ("fsopen", "ENODEV", "mounts"),
    ("fsopen", "EPERM", "mounts"),
    ("fsconfig", "EINVAL", "mounts"),
    ("fsmount", "EBUSY", "mounts"),
    ("fsmount", "EMFILE", "mounts"),
    ("mount_setattr", "EINVAL", "mounts"),
    ("mount_setattr", "EPERM", "mounts"),
    ("move_mount", "EINVAL", "mounts"),
    ("move_mount", "EPERM", "mounts"),
    ("fchdir", "EACCES", "mounts"),
    ("mkdir", "ENOSPC", "mounts"),
    ("symlinkat", "EROFS", "mounts"),
    ("pivot_root", "EINVAL", "mounts"),
    ("umount2", "EBUSY", "mounts"),
    ("sethostname", "EPERM", "net"),
    ("prctl:24", "EPERM", "privs"),
    ("prctl:28", "EPERM", "privs"),
    ("prctl:38", "EINVAL", "privs"),
    ("prctl:47", "EINVAL", "privs"),
    ("capset", "EPERM", "privs"),
    ("landlock_add_rule", "ENOMEM", "landlock"),
    ("landlock_restrict_self", "E2BIG", "landlock"),
    ("landlock_restrict_self", "EPERM", "landlock"),
    ("prctl:4", "EINVAL", "init"),
    ("sendmsg", "ENOBUFS", "init"),
    ("seccomp:1", "EACCES", "seccomp"),
    ("seccomp:1", "ENOMEM", "seccomp"),
    ("execveat", "ENOENT", "payload"),
    ("execveat", "ENOMEM", "payload"),
];

/// Calls that only root's set-up makes: it changes to another user.
const ROOT_FAILS: [(&str, &str, &str); 4] = [
    ("setgroups", "EPERM", "idmap"),
    ("setresgid", "EPERM", "idmap"),
    ("setresuid", "EAGAIN", "idmap"),
    ("setresuid", "EPERM", "idmap"),
];

/// Calls at which the supervisor is killed: there is no document, and nothing else either.
const SUPERVISOR_DIES: [&str; 6] = ["signalfd4", "socketpair", "pipe2", "clone3", "recvmsg", "pidfd_getfd"];

/// Calls at which the child is killed, in their order.
const CHILD_DIES: [&str; 21] = [
    "dup3",
    "close_range",
    "setsid",
    "chdir",
    "prctl:1",
    "open_tree",
    "fsopen",
    "fsconfig",
    "fsmount",
    "mount_setattr",
    "move_mount",
    "symlinkat",
    "pivot_root",
    "umount2",
    "sethostname",
    "keyctl",
    "capset",
    "prctl:38",
    "landlock_add_rule",
    "landlock_restrict_self",
    "sendmsg",
];

/// One run on such a host, and what was there before and after it.
struct Faulty {
    skill: Skill,
    mark: String,
    scratch: tempfile::TempDir,
}

impl Faulty {
    fn new(mark: &str) -> Self {
        Self::of(mark, "open('/workdir/out/ran', 'w').close()\nprint('ran')")
    }

    fn of(mark: &str, script: &str) -> Self {
        let skill = Skill::new(script);
        let scratch = tempfile::tempdir().unwrap();
        for folder in ["out", "tmp"] {
            std::fs::create_dir(scratch.path().join(folder)).unwrap();
        }
        Self { skill, mark: format!("{mark}-{}", std::process::id()), scratch }
    }

    fn run(&self, mode: &str) -> Output {
        self.run_with(mode, &[])
    }

    fn run_with(&self, mode: &str, words: &[&str]) -> Output {
        let python = ["/usr/bin/python3", "/usr/local/bin/python3"];
        let python = python.into_iter().find(|path| Path::new(path).exists()).unwrap_or("python3");
        let mut command = Command::new(python);
        command.arg("-B").arg(checkout().join("tests/fixtures/broken_host.py")).args([mode, SKILLJAIL]);
        command.args(["run", "--json", "--session", &self.mark, "--runtime"]).arg(runtime());
        // The caller's folder is made as well, but by the supervisor for the user.
        if !mode.starts_with("mkdir") {
            command.arg("--out").arg(self.scratch.path().join("out"));
        }
        command.args(words).arg(self.skill.path()).arg("main.py");
        command.env("TMPDIR", self.scratch.path().join("tmp"));
        let begun = Instant::now();
        let output = feed(command, b"{}");
        // No measure of speed: the deadline is 30 s, and nothing may wait for it.
        assert!(begun.elapsed() < Duration::from_secs(15), "{mode}: it waited for {:?}", begun.elapsed());
        output
    }

    /// Nothing of the script has run, and nothing is left.
    fn assert_nothing(&self, mode: &str) {
        assert_gone(&self.mark);
        for folder in ["out", "tmp"] {
            let left: Vec<_> = std::fs::read_dir(self.scratch.path().join(folder)).unwrap().collect();
            assert!(left.is_empty(), "{mode}: {left:?}");
        }
    }
}

fn mounts() -> String {
    std::fs::read_to_string("/proc/self/mountinfo").unwrap()
}

#[track_caller]
fn document(output: &Output, mode: &str) -> Value {
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{mode}: {error}: {output:?} {}", said(&output.stderr)))
}

#[track_caller]
fn assert_set_up_failed(output: &Output, mode: &str) -> Value {
    let document = document(output, mode);
    let ended = (document["status"].as_str().unwrap(), output.status.code());
    assert_eq!(ended, ("setup_failed", Some(125)), "{mode}: {document:#}");
    assert_eq!(document["stdout"]["text"], "", "{mode}");
    assert!(document["error"]["step"].is_string(), "{mode}: {document:#}");
    document
}

#[test]
fn each_call_of_the_set_up_fails_in_turn() {
    let faulty = Faulty::new("fails");
    let before = mounts();
    let mut all = FAILS.to_vec();
    if nix::unistd::geteuid().is_root() {
        all.extend(ROOT_FAILS);
    }
    for (call, errno, layer) in all {
        let mode = format!("{call}={errno}");
        let document = assert_set_up_failed(&faulty.run(&mode), &mode);
        assert_eq!(document["error"]["layer"], layer, "{mode}: {:#}", document["error"]);
        faulty.assert_nothing(&mode);
    }
    assert_eq!(mounts(), before);
    // The control: the same run where nothing that matters is refused.
    let output = faulty.run("keyctl=EDQUOT");
    assert_eq!(document(&output, "keyctl")["stdout"]["text"], "ran\n");
    assert!(faulty.scratch.path().join("out/ran").exists(), "a script that runs is seen");
}

#[test]
fn the_child_is_killed_at_each_call_of_the_set_up() {
    let faulty = Faulty::new("child-dies");
    let before = mounts();
    for call in CHILD_DIES {
        let mode = format!("{call}=KILL");
        let document = assert_set_up_failed(&faulty.run(&mode), &mode);
        assert_eq!(document["error"]["step"], "the child ended during set-up", "{mode}: {document:#}");
        faulty.assert_nothing(&mode);
    }
    assert_eq!(mounts(), before);
}

#[test]
fn the_supervisor_is_killed_at_each_call_of_the_set_up() {
    let faulty = Faulty::new("supervisor-dies");
    let before = mounts();
    for call in SUPERVISOR_DIES {
        let mode = format!("{call}=KILL");
        let output = faulty.run(&mode);
        assert_eq!((output.status.code(), output.stdout.len()), (None, 0), "{mode}: {output:?}");
        faulty.assert_nothing(&mode);
    }
    assert_eq!(mounts(), before);
}

#[test]
fn a_supervisor_that_cannot_go_on_says_that_the_script_ran() {
    // It cannot read what it is to be told of a denied call.
    let script = "import socket, time\ntry:\n    socket.socket()\nfinally:\n    time.sleep(60)";
    let faulty = Faulty::of("lost", script);
    let output = faulty.run("ioctl=ENOTTY");
    let document = document(&output, "ioctl");
    let ended = (document["status"].as_str().unwrap(), output.status.code());
    assert_eq!(ended, ("supervisor_failed", Some(3)), "{document:#}");
    assert_eq!(document["error"]["errno"], nix::libc::ENOTTY, "{document:#}");
    assert!(document["usage"]["cpu_ms"].as_u64().unwrap() > 0, "it ran: {document:#}");
    faulty.assert_nothing("ioctl");
}

#[test]
fn a_child_that_fails_early_writes_into_no_file_of_the_callers() {
    let faulty = Faulty::new("early");
    let report = faulty.scratch.path().join("report");
    for call in ["dup3=EMFILE", "close_range=ENOMEM"] {
        let output = faulty.run_with(call, &["--report", report.to_str().unwrap()]);
        let text = std::fs::read_to_string(&report).unwrap();
        let written: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{call}: {error}: {text:?}"));
        assert_eq!(written["error"], document(&output, call)["error"], "{call}");
        faulty.assert_nothing(call);
    }
}
