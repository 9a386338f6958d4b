//! Compares a whole tree with its lock.

use super::RuntimeError;
use super::lock::{Entry, IDENTITY, Identity, LOCK, Lock, digest_of, hex};
use super::opened::Opened;
use nix::dir::Dir;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, SFlag, fstatat};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// The largest `runtime.json` that is read, in bytes: about two hundred thousand files.
const LOCK_MAX: u64 = 32 << 20;

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Drift {
    /// A file, link or other thing that was not built; or a directory that was not.
    Added {
        /// Relative to the tree.
        path: String,
    },
    /// A file that is gone.
    Missing {
        /// Relative to the tree.
        path: String,
    },
    /// A file with other bytes, another mode, or of another kind.
    Changed {
        /// Relative to the tree.
        path: String,
        /// How.
        why: String,
    },
}

impl Drift {
    /// The path of any kind.
    pub fn path(&self) -> &str {
        match self {
            Self::Added { path } | Self::Missing { path } | Self::Changed { path, .. } => path,
        }
    }
}

impl std::fmt::Display for Drift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Added { path } => write!(f, "added    {path}"),
            Self::Missing { path } => write!(f, "missing  {path}"),
            Self::Changed { path, why } => write!(f, "changed  {path}: {why}"),
        }
    }
}

/// Reads the lock of the tree at `root`, and lists every difference, sorted by path.
///
/// # Errors
/// Only where the comparison cannot be made: a tree that is refused, a lock that is damaged.
pub fn drift(root: &Path) -> Result<(Lock, Vec<Drift>), RuntimeError> {
    let opened = Opened::new(root)?;
    let lock = read_lock(&opened)?;
    let mut drift = compare(&opened, &lock)?;
    match opened.identity() {
        Ok(identity) if identity.digest == lock.digest => {}
        Ok(_) => drift.push(changed(IDENTITY, "it is of another tree")),
        Err(error) => drift.push(changed(IDENTITY, &error.to_string())),
    }
    Ok((lock, drift))
}

/// Writes the identity of a tree that [`drift`] found whole anew: after it was copied, or came with a container image.
///
/// # Errors
/// [`RuntimeError::Io`] where the tree cannot be written to.
pub fn record(root: &Path, lock: &Lock) -> Result<(), RuntimeError> {
    super::identity::record(root, lock)
}

/// For [`super::Runtime::open`]: the first difference is an error.
pub(super) fn whole(opened: &Opened<'_>, identity: &Identity) -> Result<(), RuntimeError> {
    let root = opened.root;
    let lock = read_lock(opened)?;
    if lock.digest != identity.digest {
        let why = format!("its digest is {}, that of {IDENTITY} is {}", lock.digest, identity.digest);
        return Err(RuntimeError::Lock { path: root.join(LOCK), why });
    }
    match compare(opened, &lock)?.into_iter().next() {
        None => Ok(()),
        Some(first) => Err(RuntimeError::Drift {
            root: root.to_path_buf(),
            path: first.path().into(),
            why: match first {
                Drift::Added { .. } => "it was added".to_owned(),
                Drift::Missing { .. } => "it is missing".to_owned(),
                Drift::Changed { why, .. } => why,
            },
        }),
    }
}

fn read_lock(opened: &Opened<'_>) -> Result<Lock, RuntimeError> {
    let damaged = |why: String| RuntimeError::Lock { path: opened.root.join(LOCK), why };
    let bytes = opened.read(LOCK, LOCK_MAX)?;
    let lock: Lock = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if lock.format != super::lock::FORMAT {
        return Err(damaged(format!("format {} is not known", lock.format)));
    }
    if !lock.files.is_sorted_by(|left, right| left.path < right.path) {
        return Err(damaged("its files are not sorted, or one is listed twice".to_owned()));
    }
    lock.head.check().map_err(damaged)?;
    if digest_of(&lock.head, &lock.files) != lock.digest {
        return Err(damaged("its digest is not that of what it lists".to_owned()));
    }
    Ok(lock)
}

fn changed(path: &str, why: &str) -> Drift {
    Drift::Changed { path: path.to_owned(), why: why.to_owned() }
}

fn compare(opened: &Opened<'_>, lock: &Lock) -> Result<Vec<Drift>, RuntimeError> {
    let top = reopen(&opened.directory, c".").map_err(RuntimeError::errno("open", opened.root))?;
    let mut walk = Walk {
        root: opened.root,
        expected: lock.files.iter().map(|entry| (entry.path.as_str(), entry)).collect(),
        empty: ["lib-dynload", "site-packages"].map(|name| format!("{}/{name}", lock.head.stdlib)),
        found: Vec::new(),
    };
    walk.directory(&top, "")?;
    let mut found = walk.found;
    found.extend(walk.expected.into_keys().map(|path| Drift::Missing { path: path.to_owned() }));
    found.sort_by(|left, right| left.path().cmp(right.path()));
    Ok(found)
}

fn reopen(directory: impl AsFd, name: &CStr) -> nix::Result<OwnedFd> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    openat(directory, name, flags, Mode::empty())
}

/// A comparison at work: what it finds is taken out of `expected`.
struct Walk<'a> {
    root: &'a Path,
    expected: BTreeMap<&'a str, &'a Entry>,
    /// Directories that a build makes even where they hold nothing.
    empty: [String; 2],
    found: Vec<Drift>,
}

impl Walk<'_> {
    fn directory(&mut self, directory: &OwnedFd, prefix: &str) -> Result<(), RuntimeError> {
        let place = self.root.join(prefix);
        let copy = reopen(directory, c".").map_err(RuntimeError::errno("open", &place))?;
        let mut list = Dir::from_fd(copy).map_err(RuntimeError::errno("list", &place))?;
        for entry in list.iter() {
            let entry = entry.map_err(RuntimeError::errno("list", &place))?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                // A name that is no UTF-8 is in no lock: whatever it is shown as, it was added.
                let shown = name.to_string_lossy();
                let path = if prefix.is_empty() { shown.into_owned() } else { format!("{prefix}/{shown}") };
                self.entry(directory, name, path)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, directory: &OwnedFd, name: &CStr, path: String) -> Result<(), RuntimeError> {
        let stat = fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW)
            .map_err(RuntimeError::errno("stat", self.root.join(&path)))?;
        let (kind, mode) =
            (SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits()), stat.st_mode & 0o7777);
        if kind == SFlag::S_IFDIR {
            if !self.known_directory(&path) {
                self.found.push(Drift::Added { path });
                return Ok(());
            }
            if mode != 0o755 {
                self.found.push(changed(&path, &format!("mode {mode:04o}, built 0755")));
            }
            let inner =
                reopen(directory, name).map_err(RuntimeError::errno("open", self.root.join(&path)))?;
            return self.directory(&inner, &path);
        }
        if path == LOCK || path == IDENTITY {
            return Ok(());
        }
        let Some(known) = self.expected.remove(path.as_str()) else {
            self.found.push(Drift::Added { path });
            return Ok(());
        };
        if kind != SFlag::S_IFREG {
            self.found.push(changed(&path, "it is no regular file"));
        } else if format!("{mode:04o}") != known.mode {
            self.found.push(changed(&path, &format!("mode {mode:04o}, built {}", known.mode)));
        } else {
            let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
            let file = openat(directory, name, flags, Mode::empty())
                .map_err(RuntimeError::errno("open", self.root.join(&path)))?;
            if sum(&file).map_err(RuntimeError::io("read", self.root.join(&path)))? != known.sha256 {
                self.found.push(changed(&path, "its bytes are others"));
            }
        }
        Ok(())
    }

    /// Files that were seen are no longer expected, so a directory is known while it has not been walked.
    fn known_directory(&self, path: &str) -> bool {
        let below = format!("{path}/");
        let next = self.expected.range(below.as_str()..).next();
        next.is_some_and(|(known, _)| known.starts_with(&below))
            || self.empty.iter().any(|empty| empty == path)
    }
}

/// The sha256 of a file's bytes, read from its beginning through a descriptor of its own.
pub(super) fn sum(fd: &OwnedFd) -> io::Result<String> {
    let mut file = File::from(fd.try_clone()?);
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&sum.finalize())),
            count => sum.update(buffer.get(..count).unwrap_or_default()),
        }
    }
}
