//! Writes the lock: the sum of every file and the digest of the tree.

use super::super::lock::{Entry, FORMAT, Head, LOCK, Lock, Source, digest_of, hex};
use super::super::{RuntimeError, identity};
use super::tree::{Tree, files_below};
use sha2::{Digest as _, Sha256};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Sums a finished tree and writes both lock files beside `usr`.
pub(super) fn seal(
    tree: &Tree,
    head: Head,
    source: Source,
    notes: Vec<String>,
) -> Result<Lock, RuntimeError> {
    let mut files = Vec::new();
    for path in files_below(tree.root())? {
        if path.is_file() {
            files.push(entry(tree.root(), &path)?);
        }
    }
    // By bytes of the whole path, as readers of the lock expect it: not component by component.
    files.sort_by(|left, right| left.path.cmp(&right.path));
    let lock = Lock { format: FORMAT, digest: digest_of(&head, &files), head, source, notes, files };
    identity::write(tree.root(), LOCK, serde_json::to_vec_pretty(&lock))?;
    identity::record(tree.root(), &lock)?;
    Ok(lock)
}

fn entry(root: &Path, path: &Path) -> Result<Entry, RuntimeError> {
    let relative = path.strip_prefix(root).unwrap_or(path);
    let Some(name) = relative.to_str().filter(|name| !name.contains(['\n', '\0'])) else {
        return Err(RuntimeError::Forbidden {
            path: relative.to_path_buf(),
            what: "a name that is no UTF-8 line",
        });
    };
    let bytes = std::fs::read(path).map_err(RuntimeError::io("read", path))?;
    let meta = path.symlink_metadata().map_err(RuntimeError::io("stat", path))?;
    Ok(Entry {
        path: name.to_owned(),
        sha256: sha256(&bytes),
        size: meta.len(),
        mode: format!("{:04o}", meta.mode() & 0o7777),
    })
}

/// The sha256 of bytes, in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
