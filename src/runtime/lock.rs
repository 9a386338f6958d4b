//! The two files that lock a tree: `runtime.json`, the whole truth, and `runtime.identity`, the part of it that
//! every run reads.
//!
//! The digest covers, in this order: the format, the [`Head`]'s fields that decide how the interpreter starts, one line
//! for each *key* file (interpreter, loader, shared libraries, start-up module), and the sha256 of the lines of all
//! other files. So the small file alone shows that its head and its key files' sums belong to the digest.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// The version of both files.
pub const FORMAT: u32 = 1;
/// The whole lock, beside `usr`.
pub const LOCK: &str = "runtime.json";
/// What a run reads, beside `usr`.
pub const IDENTITY: &str = "runtime.identity";

/// An installed distribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Its name, normalised (PEP 503).
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What a run must know of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Such as `3.11.2`.
    pub python: String,
    /// Such as `x86_64-linux-gnu`; empty where the interpreter does not know.
    pub multiarch: String,
    /// Relative to the tree, such as `usr/bin/python3.11`.
    pub interpreter: String,
    /// The ELF loader, relative to the tree, such as `usr/lib64/ld-linux-x86-64.so.2`.
    pub loader: String,
    /// The standard library's directory, relative to the tree.
    pub stdlib: String,
    /// Variables that the interpreter needs in the jail, sorted.
    pub env: Vec<(String, String)>,
    /// The shipped sets that were asked for.
    pub sets: Vec<String>,
    /// What pip installed, sorted by name.
    pub packages: Vec<Package>,
}

impl Head {
    /// Paths stay in the tree and in one line; nothing else is read from a lock without its digest.
    pub(super) fn check(&self) -> Result<(), String> {
        for path in [&self.interpreter, &self.loader, &self.stdlib] {
            let plain = path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
            if !path.starts_with("usr/") || !plain || path.contains(char::is_control) {
                return Err(format!("{path:?} is no path below usr"));
            }
        }
        if self.python.contains(char::is_control) || self.multiarch.contains(char::is_control) {
            return Err("its version is no version".to_owned());
        }
        Ok(())
    }
}

/// One regular file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Relative to the tree, with `/`.
    pub path: String,
    /// Lower-case hexadecimal.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
    /// Permission bits, such as `0444`.
    pub mode: String,
}

/// Where the interpreter came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The interpreter's path on the building host, links resolved.
    pub path: String,
    /// Its sha256.
    pub sha256: String,
}

/// `runtime.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// [`FORMAT`].
    pub format: u32,
    /// `sha256:` and the digest of the tree.
    pub digest: String,
    /// What runs need.
    pub head: Head,
    /// Where the interpreter came from; not part of the digest.
    pub source: Source,
    /// What was left out, and why: one sentence each; not part of the digest.
    pub notes: Vec<String>,
    /// Every regular file, sorted by path.
    pub files: Vec<Entry>,
}

/// A key file: its entry, and what `stat` said of it when it was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyFile {
    /// The entry.
    pub entry: Entry,
    /// Inode number.
    pub ino: u64,
    /// Modification time: seconds and nanoseconds.
    pub mtime: (i64, i64),
    /// Change time: seconds and nanoseconds.
    pub ctime: (i64, i64),
}

/// `runtime.identity`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// [`FORMAT`].
    pub format: u32,
    /// The tree's digest.
    pub digest: String,
    /// What runs need.
    pub head: Head,
    /// The key files, sorted by path.
    pub keys: Vec<KeyFile>,
    /// The sha256 of the canonical lines of all other files.
    pub rest: String,
}

/// Whether a file is looked at on each run: what the kernel or the loader maps before any Python runs, and the one
/// module that decides `sys.path`.
pub fn is_key(head: &Head, path: &str) -> bool {
    path == head.interpreter
        || path == head.loader
        || path.strip_prefix(&head.stdlib).is_some_and(|rest| rest.starts_with("/sitecustomize.py"))
        || (path.contains(".so") && !path.starts_with(&head.stdlib))
}

/// The digest of a tree: `sha256:` and 64 hexadecimal digits.
pub fn digest<'a>(head: &Head, keys: impl Iterator<Item = &'a Entry>, rest: &str) -> String {
    let mut sum = Sha256::new();
    sum.update(format!("skilljail-runtime {FORMAT}\n"));
    for field in [&head.python, &head.multiarch, &head.interpreter, &head.loader, &head.stdlib] {
        sum.update(field.as_bytes());
        sum.update(b"\n");
    }
    for (name, value) in &head.env {
        sum.update(format!("env\0{name}\0{value}\n"));
    }
    for package in &head.packages {
        sum.update(format!("package\0{}\0{}\n", package.name, package.version));
    }
    for entry in keys {
        sum.update(line(entry));
    }
    sum.update(rest.as_bytes());
    format!("sha256:{}", hex(&sum.finalize()))
}

/// The sha256 of the lines of the files that are no key files.
pub fn rest<'a>(entries: impl Iterator<Item = &'a Entry>) -> String {
    let mut sum = Sha256::new();
    for entry in entries {
        sum.update(line(entry));
    }
    hex(&sum.finalize())
}

/// The digest of a whole list; `files` must be sorted by path.
pub fn digest_of(head: &Head, files: &[Entry]) -> String {
    let (keys, others): (Vec<&Entry>, Vec<&Entry>) =
        files.iter().partition(|entry| is_key(head, &entry.path));
    digest(head, keys.into_iter(), &rest(others.into_iter()))
}

/// NUL cannot be in a path, and the other fields have a closed alphabet: no two lists give the same lines.
fn line(entry: &Entry) -> String {
    format!("{}\0{}\0{}\0{}\n", entry.path, entry.mode, entry.size, entry.sha256)
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing into a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
