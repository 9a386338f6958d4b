//! What can go wrong with the pinned Python, and whose fault it is.

use std::io;
use std::path::{Path, PathBuf};

/// An error of building, finding, opening or verifying a runtime.
///
/// Unless a variant says otherwise the fault lies with the host or with whoever keeps the tree, never with a skill.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// No usable interpreter on `PATH`. `tried` has one line a candidate, each with its reason.
    #[error(
        "no CPython 3.11 or newer on PATH{tried}\nhint: apt-get install python3, or name an interpreter with --python PATH"
    )]
    NoPython {
        /// Lines that begin with a newline, or nothing.
        tried: String,
    },
    /// The interpreter that was named (or found) cannot be pinned.
    #[error("{}: cannot be pinned: {why}\nhint: {hint}", path.display())]
    BadPython {
        /// The interpreter.
        path: PathBuf,
        /// What it lacks.
        why: String,
        /// What to do.
        hint: &'static str,
    },
    /// The caller named an output directory that is there already.
    #[error(
        "{}: exists already, and a runtime is never changed in place\nhint: move it away, or name another directory with --out",
        out.display()
    )]
    Exists {
        /// The directory.
        out: PathBuf,
    },
    /// A system call on a file failed.
    #[error("cannot {step} {}: {source}", path.display())]
    Io {
        /// A verb.
        step: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file that should be an ELF object cannot be read as one.
    #[error("{}: not an ELF object that can be used: {why}", path.display())]
    Elf {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A shared library that something in the tree needs is not on this host.
    #[error("{library}: needed by {}, not found on this host\nhint: {hint}", needed_by.display())]
    MissingLibrary {
        /// Its name, as in `DT_NEEDED`.
        library: String,
        /// The ELF object.
        needed_by: PathBuf,
        /// What to do.
        hint: String,
    },
    /// A child process (the host's interpreter, pip) failed. `tail` is the end of what it said.
    #[error("{what} failed ({status}):\n{tail}\nhint: {hint}")]
    Child {
        /// What was run.
        what: &'static str,
        /// How it ended.
        status: String,
        /// The last lines of its stderr.
        tail: String,
        /// What to do.
        hint: String,
    },
    /// The caller's requirements cannot be used.
    #[error("{name}: {why}\nhint: {hint}")]
    Requirements {
        /// The set or the file.
        name: String,
        /// What is wrong.
        why: String,
        /// What to do.
        hint: &'static str,
    },
    /// A signal ended the build; what it had made is gone.
    #[error("the build was interrupted by signal {0}; nothing is left of it")]
    Interrupted(i32),
    /// The tree holds something that may not be in it. A fault of the source interpreter or of a package.
    #[error("{}: {what} may not be in a runtime", path.display())]
    Forbidden {
        /// The file, relative to the tree.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// No runtime in any of the places.
    #[error("no runtime found (looked in {looked})\nhint: {hint}")]
    NotFound {
        /// The places, comma-separated.
        looked: String,
        /// What to do.
        hint: String,
    },
    /// What was named is something else.
    #[error("{}: not a pinned Python: it has no {missing}\nhint: skilljail runtime build --out DIR makes one", path.display())]
    NotOne {
        /// The directory.
        path: PathBuf,
        /// What every tree has.
        missing: &'static str,
    },
    /// A build that names no place, by a user who has none.
    #[error(
        "no place for a runtime: uid {uid} has no home in the password database ($HOME is not looked at)\nhint: skilljail runtime build --out DIR"
    )]
    NoHome {
        /// Who.
        uid: u32,
    },
    /// The tree could have been changed by somebody who is neither root nor the caller.
    #[error("{}: refused: {why}\nhint: chown root or yourself, and chmod go-w; or build another with `skilljail runtime build --out DIR`", path.display())]
    Refused {
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A lock file of the tree cannot be understood.
    #[error("{}: {why}\nhint: the tree is damaged or of another version: build it again with `skilljail runtime build`", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A file of the tree is not what was built.
    #[error("{}: differs from what was built: {why}\nhint: `skilljail runtime verify --runtime {}` lists every difference; build again to repair", path.display(), root.display())]
    Drift {
        /// The tree.
        root: PathBuf,
        /// The first file that differs, relative to the tree.
        path: PathBuf,
        /// How.
        why: String,
    },
    /// The skill needs packages that this runtime does not have.
    #[error(
        "{}: the packages of set `{set}` are not all in this runtime (missing: {missing})\nhint: skilljail runtime build --requirements {set} --out {}, then run with --runtime {}",
        root.display(), out.display(), out.display()
    )]
    NeedsSet {
        /// The tree.
        root: PathBuf,
        /// The shipped set.
        set: String,
        /// Names, comma-separated.
        missing: String,
        /// Where the hint would build it.
        out: PathBuf,
    },
}

impl RuntimeError {
    /// The same for a skill that needs a set: building a plain tree first would be a step too many.
    pub(crate) fn for_set(self, set: Option<&str>) -> Self {
        match (self, set) {
            (Self::NotFound { looked, hint }, Some(set)) => {
                let (build, rest) = hint.split_once("runtime build").unwrap_or((&hint, ""));
                Self::NotFound { looked, hint: format!("{build}runtime build --requirements {set}{rest}") }
            }
            (other, _) => other,
        }
    }

    /// Shapes an I/O error; to be used with `map_err`.
    pub(crate) fn io(step: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Io { step, path, source }
    }

    /// The same for nix's errno.
    pub(crate) fn errno(
        step: &'static str,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(nix::errno::Errno) -> Self {
        let path = path.as_ref().to_path_buf();
        move |errno| Self::Io { step, path, source: errno.into() }
    }
}
