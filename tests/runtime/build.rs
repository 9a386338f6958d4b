//! What a build makes, refuses, and leaves when it fails.

use super::tree::{build_into, names, run, scratch, shared, skilljail, text};
use std::io::BufRead as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn two_builds_are_the_same_to_the_byte() {
    let base = scratch();
    let (first, second) = (base.path().join("a"), base.path().join("b"));
    build_into(&first, None);
    build_into(&second, None);
    let lock = |tree: &Path| std::fs::read(tree.join("runtime.json")).expect("the lock");
    assert!(lock(&first) == lock(&second), "the two locks differ");
}

#[test]
fn the_tree_has_no_link_no_shell_no_setuid_file_and_no_test_suite() {
    let built = shared();
    let owner = built.tree.metadata().expect("tree").uid();
    let mut queue = vec![built.tree.clone()];
    let mut files = 0;
    while let Some(directory) = queue.pop() {
        for name in names(&directory) {
            let path = directory.join(&name);
            let meta = path.symlink_metadata().expect("stat");
            assert_eq!(meta.uid(), owner, "{}", path.display());
            assert!(meta.is_file() || meta.is_dir(), "{}", path.display());
            let mode = meta.permissions().mode() & 0o7777;
            if meta.is_dir() {
                assert_eq!(mode, 0o755, "{}", path.display());
                assert!(
                    !["test", "tests", "idlelib", "tkinter", "venv"].contains(&name.as_str()),
                    "{}",
                    path.display()
                );
                queue.push(path);
            } else {
                let executable = directory.ends_with("usr/bin") || name.starts_with("ld-");
                assert_eq!(mode, if executable { 0o555 } else { 0o444 }, "{}", path.display());
                assert!(!["sh", "bash", "dash", "busybox"].contains(&name.as_str()), "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files > 1000, "only {files} files");
    assert_eq!(names(&built.tree.join("usr/bin")).len(), 1);
}

#[test]
fn every_module_has_bytecode_that_is_never_checked_against_its_source() {
    let built = shared();
    let python = names(&built.tree.join("usr/bin")).remove(0);
    let cache = built.tree.join("usr/lib").join(python).join("json/__pycache__");
    let modules = names(&cache);
    assert!(modules.len() >= 5, "{modules:?}");
    for module in modules {
        let bytes = std::fs::read(cache.join(module)).expect("bytecode");
        // PEP 552: a hash-based file (bit 0) whose source is not looked at (bit 1 clear).
        assert_eq!(bytes[4..8], [1, 0, 0, 0]);
    }
}

#[test]
fn a_caller_like_cron_changes_nothing() {
    let built = shared();
    let base = scratch();
    let out = base.path().join("runtime");
    let words = r#"trap "" CHLD; umask 777; exec "$0" runtime build --out "$1" <&- "#;
    let output = run(Command::new("sh").args(["-c", words]).arg(skilljail().get_program()).arg(&out));
    assert_eq!(output.status.code(), Some(0));
    let lock = |tree: &Path| std::fs::read(tree.join("runtime.json")).expect("the lock");
    assert!(lock(&built.tree) == lock(&out), "modes and all");
    assert_eq!(out.metadata().expect("stat").permissions().mode() & 0o7777, 0o755);
}

#[test]
fn an_output_that_exists_is_refused_and_kept() {
    let base = scratch();
    std::fs::write(base.path().join("mine"), "mine").expect("write");
    let output = run(skilljail().args(["runtime", "build", "--out"]).arg(base.path()));
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("exists already"));
    assert!(text(&output.stderr).contains("\nhint: "));
    assert_eq!(names(base.path()), ["mine"]);
}

/// A `python3` that answers for the real one, with one answer replaced.
fn impostor(directory: &Path, key: &str, value: &str) -> PathBuf {
    let path = directory.join("python3");
    let real = ["/usr/bin/python3", "/usr/local/bin/python3"].iter().find(|path| Path::new(path).exists());
    let real = real.expect("a python3 in /usr/bin or /usr/local/bin");
    let edit = format!("s|\"{key}\": \"[^\"]*\"|\"{key}\": \"{value}\"|");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *'import pip'*) exit 1;; esac\n{real} \"$@\" | /usr/bin/sed '{edit}'\n"
    );
    std::fs::write(&path, script).expect("write");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    path
}

#[test]
fn a_build_that_fails_in_the_middle_leaves_nothing() {
    let tools = scratch();
    let python = impostor(tools.path(), "executable", "/etc/passwd");
    let base = scratch();
    let out = base.path().join("new/deeper/runtime");
    let output = run(skilljail().args(["runtime", "build", "--python"]).arg(&python).arg("--out").arg(&out));
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("/etc/passwd: not an ELF object"));
    assert!(names(base.path()).is_empty(), "{:?}", names(base.path()));
}

#[test]
fn an_output_that_cannot_be_made_is_an_error() {
    let base = scratch();
    std::fs::write(base.path().join("file"), "").expect("write");
    let output = run(skilljail().args(["runtime", "build", "--out"]).arg(base.path().join("file/runtime")));
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("cannot "), "what failed, and where");
    assert_eq!(names(base.path()), ["file"]);
}

/// Starts a build, waits until it is well under way, and sends a signal.
fn interrupted(out: &Path, signal: &str) -> Option<i32> {
    let mut child = skilljail()
        .args(["runtime", "build", "--out"])
        .arg(out)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let words = std::io::BufReader::new(child.stderr.take().expect("stderr"));
    let under_way = words.lines().map_while(Result::ok).any(|line| line.contains("bytecode"));
    assert!(under_way, "the build tells its steps");
    let output = run(Command::new("kill").args(["-s", signal, &child.id().to_string()]));
    assert!(output.status.success());
    child.wait().expect("wait").code()
}

#[test]
fn a_signal_ends_a_build_and_leaves_nothing() {
    let base = scratch();
    for (signal, code) in [("TERM", 143), ("INT", 130), ("HUP", 143)] {
        assert_eq!(interrupted(&base.path().join("runtime"), signal), Some(code), "{signal}");
        assert!(names(base.path()).is_empty(), "{signal}: {:?}", names(base.path()));
    }
}

#[test]
fn what_a_killed_build_leaves_is_never_the_tree_and_the_next_build_sweeps_it() {
    let base = scratch();
    let out = base.path().join("runtime");
    assert_eq!(interrupted(&out, "KILL"), None);
    let left = names(base.path());
    assert!(left.len() == 1 && left[0].starts_with(".runtime.build-"), "{left:?}");
    build_into(&out, None);
    assert_eq!(names(base.path()), ["runtime"]);
}

#[test]
fn an_old_interpreter_is_passed_over_and_told() {
    let tools = scratch();
    let python = impostor(tools.path(), "version", "3.9.2");
    let base = scratch();
    let out = base.path().join("runtime");
    let output = run(skilljail().args(["runtime", "build", "--python"]).arg(&python).arg("--out").arg(&out));
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("it is Python 3.9.2, older than 3.11\nhint: "));

    let output = run(skilljail().args(["runtime", "build", "--out"]).arg(&out).env("PATH", tools.path()));
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("no CPython 3.11 or newer on PATH\n  "));
    assert!(text(&output.stderr).contains("\nhint: apt-get install python3"));
    assert!(names(base.path()).is_empty());
}

#[test]
fn without_pip_the_package_that_has_it_is_named() {
    let tools = scratch();
    let itself = tools.path().join("python3");
    let python = impostor(tools.path(), "executable", itself.to_str().expect("UTF-8"));
    let base = scratch();
    let mut command = skilljail();
    command.args(["runtime", "build", "--requirements", "data", "--python"]).arg(&python);
    let output = run(command.arg("--out").arg(base.path().join("runtime")));
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("\nhint: apt-get install python3-pip "));
    assert!(names(base.path()).is_empty());
}

#[test]
fn requirements_that_are_not_pinned_are_refused() {
    let base = scratch();
    let file = base.path().join("requirements.txt");
    std::fs::write(&file, "numpy>=2\n").expect("write");
    for (word, said) in
        [(file.to_str().expect("UTF-8"), "not hash-pinned: `numpy>=2`"), ("datas", "no such set")]
    {
        let mut command = skilljail();
        command.args(["runtime", "build", "--requirements", word, "--out"]).arg(base.path().join("runtime"));
        let output = run(&mut command);
        assert_eq!(output.status.code(), Some(3));
        assert!(text(&output.stderr).contains(said));
        assert!(text(&output.stderr).contains("\nhint: "));
    }
    assert_eq!(names(base.path()), ["requirements.txt"]);
}
