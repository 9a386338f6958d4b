//! `doctor` on real hosts: this one, and poorer ones that are this one with something taken away.
//!
//! Each poorer host has its control: the first test, in which nothing is taken away and everything holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a skipped test says why")]

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The program, in a place that an ordinary user can reach.
struct Program {
    folder: TempDir,
}

impl Program {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("skilljail-doctor").tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        // By a process of its own: a descriptor of ours that is open for writing would be copied into whatever another test
        // forks at that moment, and an executable that somebody has open for writing cannot be run (ETXTBSY).
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_skilljail")).arg(folder.path()).status();
        assert!(copied.unwrap().success());
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/broken_host.py");
        fs::copy(fixture, folder.path().join("broken_host.py")).unwrap();
        Self { folder }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// Runs a shell line in which `$DOCTOR` is the command and `$POORER MODE` the fixture that precedes it.
    fn run(&self, line: &str) -> Output {
        let python =
            ["/usr/bin/python3", "/usr/local/bin/python3"].iter().find(|path| Path::new(path).exists());
        let script = format!(
            "POORER='{} -B {}'; ",
            python.unwrap_or(&"python3"),
            self.path("broken_host.py").display()
        );
        let doctor = format!("DOCTOR='{} doctor --format json'; ", self.path("skilljail").display());
        Command::new("sh").args(["-c", &format!("{script}{doctor}{line}")]).output().unwrap()
    }

    fn document(&self, line: &str) -> (Value, Option<i32>) {
        let output = self.run(line);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let document = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{line}: {e}: {:?} {told}", String::from_utf8_lossy(&output.stdout)));
        (document, output.status.code())
    }

    /// Asserts that everything holds.
    fn assert_well(&self, line: &str) -> Value {
        let (document, code) = self.document(line);
        assert_eq!(document["cause"], Value::Null, "{line}: {document:#}");
        assert_eq!((document["ok"].as_bool(), code), (Some(true), Some(0)), "{line}");
        let needed = document["checks"].as_array().unwrap().iter().filter(|check| check["needed"] == true);
        for check in needed {
            assert_eq!(check["status"], "ok", "{line}: {check}");
        }
        document
    }

    /// Asserts the one cause, the check that shows it, and that there is evidence and a fix.
    fn assert_ill(&self, line: &str, cause: &str, check: &str) -> Value {
        let (document, code) = self.document(line);
        assert_eq!((document["ok"].as_bool(), code), (Some(false), Some(1)), "{line}: {document:#}");
        assert_eq!(document["cause"]["cause"], cause, "{line}: {:#}", document["cause"]);
        let status = &status(&document, check);
        assert_eq!(status, "missing", "{line}: {check}: {document:#}");
        assert!(!document["cause"]["evidence"].as_array().unwrap().is_empty(), "{line}: no evidence");
        assert!(!document["cause"]["fixes"].as_array().unwrap().is_empty(), "{line}: no fix");
        document
    }
}

fn status(document: &Value, name: &str) -> String {
    let found = document["checks"].as_array().unwrap().iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("no check {name}"))["status"].as_str().unwrap().to_owned()
}

/// Whether poorer hosts can be made here at all: that takes what a jail takes.
fn capable(program: &Program) -> bool {
    let (document, _) = program.document("$DOCTOR");
    if document["ok"] != true {
        eprintln!("SKIP: this host is a poor one itself: {}", document["cause"]["what"]);
    }
    document["ok"] == true
}

/// In a user namespace as uid 1000 with all capabilities over it.
const NESTED: &str = "unshare --user --map-user=1000 --map-group=1000 --keep-caps";

#[test]
fn this_host_is_well_however_the_program_is_started() {
    let program = Program::new();
    if !capable(&program) {
        return;
    }
    let document = program.assert_well("$DOCTOR");
    assert_eq!(document["version"], 1);
    if document["host"]["proc"]["sys_read_only"] == false {
        assert_eq!(status(&document, "nesting_limit"), "ok");
    }
    assert!(document["host"]["landlock"]["abi"].as_u64().unwrap() >= 2);
    program.assert_well("setpriv --no-new-privs $DOCTOR");
    program.assert_well("trap '' CHLD; exec $DOCTOR");
    program.assert_well("umask 777; cd /; exec $DOCTOR <&- 2>&-");
    program.assert_well(&format!("exec {NESTED} $DOCTOR"));
    // The fixture by itself takes nothing away that is needed.
    program.assert_well("$POORER keyctl=EPERM $DOCTOR");
}

#[test]
fn a_limit_of_zero_user_namespaces_is_named() {
    let program = Program::new();
    if !capable(&program) {
        return;
    }
    let line = format!("{NESTED} sh -c 'echo 0 > /proc/sys/user/max_user_namespaces; exec '\"$DOCTOR\"");
    let document = program.assert_ill(&line, "userns_limit", "namespaces");
    assert!(document["cause"]["evidence"].to_string().contains("user.max_user_namespaces=0"));
    assert_eq!(status(&document, "mounts"), "not_tried");
    assert_eq!(status(&document, "landlock"), "ok", "what does not hang on it is still tried");
}

#[test]
fn an_outer_filter_is_named_at_each_step_that_it_refuses() {
    let program = Program::new();
    if !capable(&program) {
        return;
    }
    for (rule, check) in [
        ("clone3=EPERM", "namespaces"),
        ("clone3=ENOSYS", "namespaces"),
        ("fsopen=EPERM", "mounts"),
        ("move_mount=EPERM", "mounts"),
        ("fsopen=KILL", "mounts"),
        ("keyctl=EPERM,fsopen=EACCES", "mounts"),
        ("pivot_root=EPERM", "pivot_root"),
        ("pivot_root=KILL", "pivot_root"),
        ("landlock_create_ruleset=ENOSYS", "landlock"),
        ("landlock_create_ruleset=EPERM", "landlock"),
        ("pidfd_getfd=ENOSYS", "pidfd_getfd"),
        ("pidfd_getfd=EPERM", "pidfd_getfd"),
    ] {
        let document = program.assert_ill(&format!("$POORER {rule} $DOCTOR"), "outer_seccomp", check);
        assert!(document["cause"]["evidence"].to_string().contains("Seccomp: 2"), "{rule}");
    }
    let document = program.assert_ill(
        "$POORER landlock_create_ruleset=EOPNOTSUPP $DOCTOR",
        "landlock_not_in_lsm",
        "landlock",
    );
    assert!(document["cause"]["fixes"].to_string().contains("lsm=landlock"));
}

#[test]
fn a_listener_that_is_taken_is_named() {
    let program = Program::new();
    if capable(&program) {
        program.assert_ill("$POORER listener $DOCTOR", "listener_taken", "seccomp");
    }
}

#[test]
fn what_only_is_good_to_have_makes_nobody_ill() {
    let program = Program::new();
    if !capable(&program) {
        return;
    }
    let document = program.assert_well("$POORER keyctl=EPERM $DOCTOR");
    assert_eq!(status(&document, "keyring"), "missing");
    // A container's /proc: parts of it covered. The kernel then refuses a fresh one in a namespace below.
    let document = program.assert_well(&format!(
        "{NESTED} --mount sh -c 'mount -t tmpfs none /proc/sys/kernel; exec '\"$DOCTOR\""
    ));
    assert_eq!(status(&document, "proc_mount"), "missing");
    assert_eq!(document["host"]["proc"]["masked"][0], "/proc/sys/kernel");
    let document = program.assert_well(&format!(
        "{NESTED} --mount sh -c 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec '\"$DOCTOR\""
    ));
    assert_eq!(status(&document, "nesting_limit"), "missing");
    assert_eq!(document["host"]["proc"]["sys_read_only"], true);
}

#[test]
fn a_missing_proc_and_a_chroot_are_named() {
    let program = Program::new();
    if !capable(&program) {
        return;
    }
    let line = format!("{NESTED} --mount sh -c 'mount -t tmpfs none /proc; exec '\"$DOCTOR\"");
    program.assert_ill(&line, "proc_missing", "id_maps");

    let root = program.path("root");
    fs::create_dir(&root).unwrap();
    let fill = "for d in /*; do if [ -L $d ]; then cp -P $d $R$d; \
                elif [ -d $d ]; then mkdir -p $R$d && mount --rbind $d $R$d; fi; done";
    let line = format!("R={} {NESTED} --mount sh -c '{fill}; exec chroot $R '\"$DOCTOR\"", root.display());
    let document = program.assert_ill(&line, "chroot", "namespaces");
    assert_eq!(document["host"]["root_is_mount"], false);
}

#[test]
fn root_that_cannot_leave_uid_0_is_named() {
    let program = Program::new();
    if !capable(&program) {
        return;
    }
    program.assert_ill("unshare -Ur $DOCTOR", "no_spare_uid", "start");
    program.assert_ill("unshare -Ur setpriv --bounding-set=-setuid $DOCTOR", "root_without_setuid", "start");
}

#[test]
fn limits_that_are_low_already_are_named() {
    let program = Program::new();
    if !capable(&program) {
        return;
    }
    program.assert_ill("ulimit -n 5; exec $DOCTOR", "descriptor_limit", "namespaces");
    // The kernel lets root pass this limit.
    let ordinary = if nix::unistd::geteuid().is_root() {
        "setpriv --reuid 65533 --regid 65533 --clear-groups"
    } else {
        ""
    };
    let line = format!("exec {ordinary} prlimit --nproc=0:0 $DOCTOR");
    program.assert_ill(&line, "process_limit", "namespaces");
}

#[test]
fn a_directory_that_is_no_cgroup_is_named() {
    let program = Program::new();
    if !capable(&program) {
        return;
    }
    let folder = program.path("");
    let line = format!("$DOCTOR --cgroup {}", folder.display());
    let document = program.assert_ill(&line, "cgroup_not_v2", "cgroup");
    assert_eq!(document["host"]["cgroup"]["dir"]["is_v2"], false);
    let left = fs::read_dir(&folder).unwrap().filter(|e| e.as_ref().unwrap().path().is_dir()).count();
    assert_eq!(left, 0, "the probe left a directory");
}

#[test]
fn text_says_the_cause_once_and_the_fix_in_full() {
    let program = Program::new();
    if !capable(&program) {
        return;
    }
    let output = program.run(&format!("$POORER clone3=EPERM {} doctor", program.path("skilljail").display()));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!(text.matches("Cause: ").count(), 1, "{text}");
    for words in
        ["MISSING  namespaces", "[outer_seccomp]", "seen: clone: EPERM", "Fix (Docker):", "Fix (Kubernetes):"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("Everything that"), "{text}");
}
