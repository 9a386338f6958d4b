//! Which interpreter is pinned, and what it says of itself.
//!
//! `python3` on `PATH` may be a shell script (pyenv's shim), a link into a virtual environment, or the thing itself.
//! The honest way to know is to ask it, once: it is the host's own interpreter, run by whoever owns the host.

use super::super::RuntimeError;
use super::child::{self, Interrupts};
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest version that is supported.
const OLDEST: (u32, u32) = (3, 11);
const HINT: &str = "name a CPython 3.11 or newer with --python PATH (Debian: apt-get install python3)";

/// A longer last line of an interpreter's complaint helps nobody.
const MAX_SAID: usize = 200;

/// Asks for base paths: with `-S` a virtual environment's site is not set up, so all of them are the base's.
const QUESTION: &str = r"
import json, os, sys, sysconfig
def openssl():
    try:
        import ssl
    except ImportError:
        return None
    paths = ssl.get_default_verify_paths()
    return [paths.openssl_cafile, paths.cafile]
print(json.dumps({
    'implementation': sys.implementation.name,
    'version': '.'.join(map(str, sys.version_info[:3])),
    'executable': os.path.realpath(sys._base_executable or sys.executable),
    'stdlib': sysconfig.get_path('stdlib'),
    'dynload': os.path.join(sysconfig.get_path('platstdlib'), 'lib-dynload'),
    'platlibdir': sys.platlibdir,
    'multiarch': sysconfig.get_config_var('MULTIARCH') or '',
    'openssl': openssl(),
}))
";

/// What the interpreter said.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Interpreter {
    implementation: String,
    /// Such as `3.11.2`.
    pub(super) version: String,
    /// The real file.
    pub(super) executable: PathBuf,
    /// The standard library.
    pub(super) stdlib: PathBuf,
    /// The extension modules of the standard library.
    pub(super) dynload: PathBuf,
    /// `lib` or `lib64`.
    pub(super) platlibdir: String,
    /// Such as `x86_64-linux-gnu`.
    pub(super) multiarch: String,
    /// OpenSSL's compiled-in file of authorities, and the file that it finds now.
    pub(super) openssl: Option<(String, Option<PathBuf>)>,
    /// The command that was asked: it may be of a virtual environment that has pip.
    #[serde(skip)]
    pub(super) asked: PathBuf,
}

impl Interpreter {
    /// Asks the interpreter that was named, or the first fit `python3` on `path` (the value of `PATH`).
    pub(super) fn choose(
        named: Option<&Path>,
        path: &std::ffi::OsStr,
        interrupts: &Interrupts,
    ) -> Result<Self, RuntimeError> {
        if let Some(named) = named {
            return Self::ask(named, interrupts);
        }
        let mut tried = String::new();
        for directory in std::env::split_paths(path).filter(|directory| directory.is_absolute()) {
            let candidate = directory.join("python3");
            if !candidate.exists() {
                continue;
            }
            match Self::ask(&candidate, interrupts) {
                Err(RuntimeError::BadPython { path, why, .. }) => {
                    // Writing into a String cannot fail.
                    let _ = write!(tried, "\n  {}: {why}", path.display());
                }
                other => return other,
            }
        }
        Err(RuntimeError::NoPython { tried })
    }

    fn ask(candidate: &Path, interrupts: &Interrupts) -> Result<Self, RuntimeError> {
        let bad = |why: String| RuntimeError::BadPython { path: candidate.to_path_buf(), why, hint: HINT };
        let mut command = Command::new(candidate);
        command.args(["-I", "-S", "-B", "-c", QUESTION]);
        let said = match child::run(command, interrupts) {
            Err(RuntimeError::Io { source, .. }) => return Err(bad(format!("it does not run: {source}"))),
            other => other?,
        };
        if !said.status.success() {
            // Whatever is not Python repeats the question, in its own quotes.
            let last = said.err.trim().lines().last().unwrap_or_default();
            let last = if last.len() > MAX_SAID || last.contains("import json") { "" } else { last };
            let colon = if last.is_empty() { "" } else { ": " };
            return Err(bad(format!("it is no Python interpreter ({}){colon}{last}", said.status)));
        }
        let mut answer: Self = serde_json::from_str(&said.out)
            .map_err(|error| bad(format!("its answer is not understood: {error}")))?;
        answer.asked = candidate.to_path_buf();
        if answer.implementation != "cpython" {
            return Err(bad(format!("it is {}, not CPython", answer.implementation)));
        }
        if answer.minor().is_none_or(|version| version < OLDEST) {
            return Err(bad(format!("it is Python {}, older than 3.11", answer.version)));
        }
        if !answer.stdlib.join("os.py").is_file() {
            let why = format!("its standard library has no os.py in {}", answer.stdlib.display());
            return Err(RuntimeError::BadPython {
                path: candidate.to_path_buf(),
                why,
                hint: "install the whole standard library (Debian: apt-get install libpython3-stdlib)",
            });
        }
        Ok(answer)
    }

    /// The first two numbers of the version.
    pub(super) fn minor(&self) -> Option<(u32, u32)> {
        let mut parts = self.version.split('.').map(str::parse);
        Some((parts.next()?.ok()?, parts.next()?.ok()?))
    }

    /// `python3.11`, or `python3.13t` for a free-threaded build: the name of the standard library's directory, which
    /// the interpreter looks for beside its own.
    pub(super) fn name(&self) -> String {
        self.stdlib.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}
