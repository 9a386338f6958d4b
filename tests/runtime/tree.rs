//! Builds trees for the tests.
#![allow(dead_code, reason = "two test programs share it, and each uses a part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The program under test.
pub(crate) fn skilljail() -> Command {
    Command::new(env!("CARGO_BIN_EXE_skilljail"))
}

/// Runs it, and shows what it said if a test fails.
pub(crate) fn run(command: &mut Command) -> Output {
    let output = command.output().expect("the program starts");
    eprintln!("{command:?}\n{}\n{}", text(&output.stdout), text(&output.stderr));
    output
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Builds from an interpreter, or from the default one.
pub(crate) fn build_into(out: &Path, python: Option<&Path>) {
    let mut command = skilljail();
    command.args(["runtime", "build", "--out"]).arg(out);
    if let Some(python) = python {
        command.arg("--python").arg(python);
    }
    let output = run(&mut command);
    assert_eq!(output.status.code(), Some(0));
}

/// A tree of the default interpreter, shared by the tests that only read it, gone with the last of them.
pub(crate) struct Built {
    _directory: tempfile::TempDir,
    pub(crate) tree: PathBuf,
}

pub(crate) fn shared() -> Arc<Built> {
    static SHARED: Mutex<Weak<Built>> = Mutex::new(Weak::new());
    let mut slot = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(built) = slot.upgrade() {
        return built;
    }
    let directory = scratch();
    let tree = directory.path().join("runtime");
    build_into(&tree, None);
    let built = Arc::new(Built { _directory: directory, tree });
    *slot = Arc::downgrade(&built);
    built
}

/// A copy that a test may spoil.
pub(crate) fn copy(built: &Built) -> (tempfile::TempDir, PathBuf) {
    let directory = scratch();
    let tree = directory.path().join("runtime");
    let output = run(Command::new("cp").arg("-a").arg(&built.tree).arg(&tree));
    assert!(output.status.success());
    (directory, tree)
}

pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

/// An interpreter of the host that has pip.
pub(crate) fn python_with_pip() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|directory| directory.join("python3"))
        .filter(|python| python.exists())
        .find(|python| {
            let mut command = Command::new(python);
            command.args(["-I", "-c", "import pip, sys; assert sys.version_info >= (3, 11)"]);
            command.output().is_ok_and(|output| output.status.success())
        })
        .expect("a python3 of 3.11 or newer that has pip on PATH (Debian: apt-get install python3-pip)")
}
