//! Site packages: installed by the host's pip from wheels whose hashes are pinned, nothing built, nothing run.

use super::super::RuntimeError;
use super::super::lock::Package;
use super::super::sets;
use super::child::{self, Interrupts};
use super::interpreter::Interpreter;
use super::tree::{Tree, files_below};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A wheel's test suite: never imported by the package itself. (`test` is: some packages offer one to their users.)
const TESTS: &str = "tests";

/// What was asked for.
#[derive(Debug)]
pub struct Requirements {
    /// The shipped set's name, or the file's.
    pub name: String,
    /// Whether it is a shipped set.
    pub shipped: bool,
    text: String,
}

impl Requirements {
    /// A shipped set's name, or a file: a word with a `/` or a `.` in it is a file.
    pub fn read(word: &str) -> Result<Self, RuntimeError> {
        if let Some(text) = sets::shipped(word) {
            return Ok(Self { name: word.to_owned(), shipped: true, text: text.to_owned() });
        }
        let refuse = |why: String, hint| RuntimeError::Requirements { name: word.to_owned(), why, hint };
        if !word.contains(['/', '.']) {
            return Err(refuse(
                format!("no such set; shipped are {}", sets::NAMES.join(", ")),
                "a file is named with its path, such as ./requirements.txt",
            ));
        }
        let text = std::fs::read_to_string(word).map_err(RuntimeError::io("read", word))?;
        if let Some(line) = sets::unpinned(&text) {
            return Err(refuse(
                format!("not hash-pinned: `{line}`"),
                "each line must be NAME==VERSION --hash=sha256:…; `pip-compile --generate-hashes` or `uv export` writes such files",
            ));
        }
        Ok(Self { name: word.to_owned(), shipped: false, text })
    }
}

/// Installs into the tree's site-packages, and removes what has no place there.
pub(super) fn install(
    tree: &Tree,
    python: &Interpreter,
    site_packages: &str,
    requirements: &Requirements,
    interrupts: &Interrupts,
    notes: &mut Vec<String>,
) -> Result<Vec<Package>, RuntimeError> {
    let target = tree.at(site_packages);
    let pip = with_pip(python, interrupts)?;
    let list =
        tempfile::NamedTempFile::with_suffix(".txt").map_err(RuntimeError::io("make", "a temporary file"))?;
    std::fs::write(list.path(), &requirements.text).map_err(RuntimeError::io("write", list.path()))?;
    let mut command = Command::new(pip);
    command.args([
        "-I",
        "-B",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
    ]);
    command.args(["--no-warn-script-location", "--require-hashes", "--only-binary", ":all:", "--no-compile"]);
    command.args(["--ignore-installed", "--root-user-action", "ignore"]);
    command.arg("--target").arg(&target).arg("-r").arg(list.path());
    child::run(command, interrupts)?.ok(
        "pip install",
        "pip needs its index (see `pip config list`), and wheels for this Python and machine with the pinned hashes",
    )?;
    prune(&target, notes)?;
    installed(&target)
}

/// The interpreter that has pip: the one that was asked (it may be of a virtual environment), or its base.
fn with_pip(python: &Interpreter, interrupts: &Interrupts) -> Result<PathBuf, RuntimeError> {
    for candidate in [&python.asked, &python.executable] {
        let mut command = Command::new(candidate);
        command.args(["-I", "-B", "-c", "import pip"]);
        if child::run(command, interrupts)?.status.success() {
            return Ok(candidate.clone());
        }
    }
    Err(RuntimeError::BadPython {
        path: python.asked.clone(),
        why: "it has no pip, which --requirements needs".to_owned(),
        hint: "apt-get install python3-pip (or name the python3 of a virtual environment that has pip with --python PATH)",
    })
}

/// Removes commands, test suites, and `.pth` files: these would run code or widen `sys.path` at each start.
fn prune(target: &Path, notes: &mut Vec<String>) -> Result<(), RuntimeError> {
    let remove = |path: &Path| std::fs::remove_dir_all(path).map_err(RuntimeError::io("remove", path));
    if target.join("bin").is_dir() {
        remove(&target.join("bin"))?;
    }
    for path in files_below(target)? {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // Below a test suite that is gone already.
        let Ok(meta) = path.symlink_metadata() else { continue };
        if meta.is_dir() && (name == TESTS || name == "__pycache__") {
            remove(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "pth") {
            notes.push(format!("{name} was left out: nothing but sys.path decides what is imported"));
            std::fs::remove_file(&path).map_err(RuntimeError::io("remove", &path))?;
        }
    }
    Ok(())
}

/// Reads the names and versions from the `.dist-info` folders' names (their form is fixed by PEP 427).
fn installed(target: &Path) -> Result<Vec<Package>, RuntimeError> {
    let entries = std::fs::read_dir(target).map_err(RuntimeError::io("list", target))?;
    let mut packages = Vec::new();
    for entry in entries {
        let name = entry.map_err(RuntimeError::io("list", target))?.file_name();
        let Some((name, version)) =
            name.to_str().and_then(|name| name.strip_suffix(".dist-info")?.split_once('-'))
        else {
            continue;
        };
        packages.push(Package { name: sets::normalised(name), version: version.to_owned() });
    }
    packages.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(packages)
}
