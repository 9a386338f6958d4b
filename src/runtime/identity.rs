//! Writes `runtime.identity`: what `stat` says of the key files of a tree that is known to be whole.

use super::RuntimeError;
use super::lock::{Entry, FORMAT, IDENTITY, Identity, KeyFile, Lock, is_key, rest};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// Writes the identity of the tree at `root`, whose files must be those of `lock`.
///
/// # Errors
/// [`RuntimeError::Io`] where the tree cannot be written to.
pub(super) fn record(root: &Path, lock: &Lock) -> Result<(), RuntimeError> {
    let (keys, others): (Vec<&Entry>, Vec<&Entry>) =
        lock.files.iter().partition(|entry| is_key(&lock.head, &entry.path));
    let keys = keys.into_iter().map(|entry| key(root, entry)).collect::<Result<_, _>>()?;
    let rest = rest(others.into_iter());
    let identity =
        Identity { format: FORMAT, digest: lock.digest.clone(), head: lock.head.clone(), keys, rest };
    // Without white space: every run parses it.
    let bytes = serde_json::to_vec(&identity);
    write(root, IDENTITY, bytes)
}

/// Writes one of the two lock files: a reader sees the old one or the new one.
pub(super) fn write(root: &Path, name: &str, json: serde_json::Result<Vec<u8>>) -> Result<(), RuntimeError> {
    let path = root.join(name);
    let mut bytes =
        json.map_err(|error| RuntimeError::Lock { path: path.clone(), why: error.to_string() })?;
    bytes.push(b'\n');
    let file = tempfile::NamedTempFile::new_in(root).map_err(RuntimeError::io("write in", root))?;
    std::fs::write(file.path(), &bytes).map_err(RuntimeError::io("write", file.path()))?;
    let read_only = std::fs::Permissions::from_mode(0o444);
    file.as_file().set_permissions(read_only).map_err(RuntimeError::io("set the mode of", file.path()))?;
    file.as_file().sync_all().map_err(RuntimeError::io("sync", file.path()))?;
    file.persist(&path).map_err(|error| RuntimeError::Io { step: "write", path, source: error.error })?;
    Ok(())
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
