//! Writes the lock: the sum of every file, the digest of the tree, and what `stat` says of the key files.

use super::super::RuntimeError;
use super::super::lock::{
    Entry, FORMAT, Head, IDENTITY, Identity, KeyFile, LOCK, Lock, Source, digest, hex, is_key, rest,
};
use super::tree::{Tree, files_below};
use sha2::{Digest as _, Sha256};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
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
    files.sort_by(|left, right| left.path.cmp(&right.path));
    let (keys, others): (Vec<&Entry>, Vec<&Entry>) =
        files.iter().partition(|entry| is_key(&head, &entry.path));
    let rest = rest(others.into_iter());
    let digest = digest(&head, keys.iter().copied(), &rest);
    let keys = keys.into_iter().map(|entry| key(tree.root(), entry)).collect::<Result<_, _>>()?;
    let identity = Identity { format: FORMAT, digest: digest.clone(), head: head.clone(), keys, rest };
    let lock = Lock { format: FORMAT, digest, head, source, notes, files };
    write(tree, LOCK, &lock)?;
    write(tree, IDENTITY, &identity)?;
    Ok(lock)
}

fn write(tree: &Tree, name: &'static str, value: &impl serde::Serialize) -> Result<(), RuntimeError> {
    let path = tree.at(name);
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| RuntimeError::Lock { path: path.clone(), why: error.to_string() })?;
    bytes.push(b'\n');
    tree.write(name, &bytes)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444))
        .map_err(RuntimeError::io("set the mode of", path))
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

fn key(root: &Path, entry: &Entry) -> Result<KeyFile, RuntimeError> {
    let path = root.join(&entry.path);
    let meta = path.symlink_metadata().map_err(RuntimeError::io("stat", &path))?;
    Ok(KeyFile {
        entry: entry.clone(),
        ino: meta.ino(),
        mtime: (meta.mtime(), meta.mtime_nsec()),
        ctime: (meta.ctime(), meta.ctime_nsec()),
    })
}

/// The sha256 of bytes, in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
