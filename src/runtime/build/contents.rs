//! What is laid into the tree besides libraries and packages: the standard library and the data that it looks for.

use super::super::RuntimeError;
use super::interpreter::Interpreter;
use super::tree::{Tree, files_below};
use std::path::{Path, PathBuf};

/// Parts of the standard library that a script in a jail has no use for: tests, windows, installers and what holds
/// shell scripts (`venv`).
const LEFT_OUT: [&str; 13] = [
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "turtle.py",
    "turtledemo",
    "ensurepip",
    "lib2to3",
    "venv",
    "site-packages",
    "dist-packages",
    "__pycache__",
    "EXTERNALLY-MANAGED",
];
/// The host's own start-up modules: ours decides `sys.path`, and there is no second one.
const START_UP: [&str; 2] = ["sitecustomize.py", "usercustomize.py"];
/// What only `tkinter` and the tests load.
const MODULES_LEFT_OUT: [&str; 5] = ["_tkinter.", "_test", "_ctypes_test.", "xxlimited", "_xx"];
/// See `start_up.py`.
const START_UP_MODULE: &str = include_str!("start_up.py");
/// Where a bundle of authorities usually is, for interpreters whose OpenSSL does not say.
const BUNDLES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];
/// Where the tree has its bundle: Debian's OpenSSL looks there by itself.
const BUNDLE: &str = "usr/lib/ssl/cert.pem";

/// Copies the standard library and its extension modules to `stdlib`, and writes the start-up module.
pub(super) fn lay_stdlib(tree: &Tree, python: &Interpreter, stdlib: &str) -> Result<(), RuntimeError> {
    copy_below(tree, &python.stdlib, stdlib)?;
    if !python.dynload.starts_with(&python.stdlib) && python.dynload.is_dir() {
        copy_below(tree, &python.dynload, &format!("{stdlib}/lib-dynload"))?;
    }
    // The directory is a landmark: without it the interpreter warns on each start (getpath.py).
    let dynload = tree.at(stdlib).join("lib-dynload");
    std::fs::create_dir_all(&dynload).map_err(RuntimeError::io("make directory", &dynload))?;
    let packages = tree.at(stdlib).join("site-packages");
    std::fs::create_dir_all(&packages).map_err(RuntimeError::io("make directory", &packages))?;
    tree.write(format!("{stdlib}/sitecustomize.py"), start_up(stdlib).as_bytes())
}

/// `site` imports this module last, from the first directory of `sys.path`, so a skill's own is never looked for.
/// It also spares what the collector takes while modules are imported and when the interpreter ends.
/// Python's zip entry goes (it would cost a look-up for each import), the skill's folder comes last.
fn start_up(stdlib: &str) -> String {
    START_UP_MODULE.replace("STDLIB", stdlib)
}

fn copy_below(tree: &Tree, from: &Path, to: &str) -> Result<(), RuntimeError> {
    let mut queue: Vec<(PathBuf, PathBuf)> = vec![(from.to_path_buf(), PathBuf::from(to))];
    while let Some((from, to)) = queue.pop() {
        let entries = std::fs::read_dir(&from).map_err(RuntimeError::io("list", &from))?;
        for entry in entries {
            let entry = entry.map_err(RuntimeError::io("list", &from))?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| wanted(name)) else { continue };
            // Debian has links to /etc and between names here: what they lead to is what is wanted.
            let Ok(meta) = entry.path().metadata() else { continue };
            if meta.is_dir() {
                queue.push((entry.path(), to.join(name)));
            } else if meta.is_file() {
                tree.copy(&entry.path(), to.join(name))?;
            }
        }
    }
    Ok(())
}

fn wanted(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let module = extension == "so" && MODULES_LEFT_OUT.iter().any(|prefix| name.starts_with(prefix));
    !LEFT_OUT.contains(&name)
        && !START_UP.contains(&name)
        && !name.starts_with("config-")
        && !module
        && !matches!(extension, "pyc" | "pyo" | "a" | "o" | "exe" | "sh" | "pth")
}

/// Lays the bundle of authorities as one plain file, and returns the variables that OpenSSL needs to find it.
pub(super) fn lay_authorities(
    tree: &Tree,
    python: &Interpreter,
    notes: &mut Vec<String>,
) -> Result<Vec<(String, String)>, RuntimeError> {
    let Some((compiled_in, found)) = &python.openssl else {
        notes.push("the interpreter has no ssl module".to_owned());
        return Ok(Vec::new());
    };
    let candidates = found.iter().cloned().chain(BUNDLES.map(PathBuf::from));
    let Some(bundle) = candidates.into_iter().find(|path| path.is_file()) else {
        notes.push("no bundle of certificate authorities on the building host (Debian: apt-get install ca-certificates)".to_owned());
        return Ok(Vec::new());
    };
    let compiled_in = compiled_in.trim_start_matches('/');
    if compiled_in.starts_with("usr/") {
        tree.copy(&bundle, compiled_in)?;
        return Ok(Vec::new());
    }
    tree.copy(&bundle, BUNDLE)?;
    Ok(vec![("SSL_CERT_FILE".to_owned(), format!("/{BUNDLE}"))])
}

/// Lays the time zones as plain files: no `posix/` and `right/` doubles, no `localtime` of the host.
pub(super) fn lay_time_zones(tree: &Tree, notes: &mut Vec<String>) -> Result<(), RuntimeError> {
    let from = Path::new("/usr/share/zoneinfo");
    let Ok(zones) = files_below(from) else {
        notes.push("no /usr/share/zoneinfo on the building host: zoneinfo needs the tzdata package of a set (Debian: apt-get install tzdata)".to_owned());
        return Ok(());
    };
    for zone in zones {
        let Ok(relative) = zone.strip_prefix(from) else { continue };
        let first = relative.iter().next().and_then(|part| part.to_str()).unwrap_or_default();
        if matches!(first, "posix" | "right" | "localtime" | "posixrules") {
            continue;
        }
        if zone.metadata().is_ok_and(|meta| meta.is_file()) {
            tree.copy(&zone, Path::new("usr/share/zoneinfo").join(relative))?;
        }
    }
    Ok(())
}

/// Lays the C.UTF-8 locale, so that `LANG=C.UTF-8` means in the jail what it says. Without it Python starts in its
/// own UTF-8 mode, which differs only for programs that ask the C library.
pub(super) fn lay_locale(tree: &Tree, notes: &mut Vec<String>) -> Result<(), RuntimeError> {
    for name in ["C.utf8", "C.UTF-8"] {
        let from = Path::new("/usr/lib/locale").join(name);
        if from.is_dir() {
            return copy_below(tree, &from, &format!("usr/lib/locale/{name}"));
        }
    }
    notes.push("no C.UTF-8 locale on the building host: Python starts in UTF-8 mode".to_owned());
    Ok(())
}
