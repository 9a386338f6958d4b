//! The canary directory: files of the host's that everybody may read and write, so that only a wall of the jail keeps an
//! attack from them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// What nobody has written to says this.
const UNTOUCHED: &str = "untouched\n";

/// The directory.
#[derive(Debug)]
pub struct Outside {
    dir: PathBuf,
    secret: String,
    before: BTreeMap<PathBuf, String>,
}

/// A word that nobody can guess.
///
/// # Errors
/// The kernel gives no random bytes.
pub fn token() -> io::Result<String> {
    use io::Read as _;
    let mut bytes = [0u8; 12];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("canary-{}", crate::digest::hex(&bytes)))
}

impl Outside {
    /// Makes it at `dir`, which must not be there.
    ///
    /// # Errors
    /// A file cannot be made.
    pub fn set_out(dir: &Path) -> io::Result<Self> {
        let secret = token()?;
        fs::create_dir(dir)?;
        fs::create_dir(dir.join("folder"))?;
        fs::write(dir.join("secret"), format!("{secret}\n"))?;
        fs::write(dir.join("writable"), UNTOUCHED)?;
        fs::write(dir.join("folder/inner"), UNTOUCHED)?;
        fs::write(dir.join("program"), "#!/bin/sh\necho ran\n")?;
        for (name, mode) in [
            ("", 0o777),
            ("folder", 0o777),
            ("secret", 0o644),
            ("writable", 0o666),
            ("folder/inner", 0o666),
            ("program", 0o755),
        ] {
            fs::set_permissions(dir.join(name), fs::Permissions::from_mode(mode))?;
        }
        let mut outside = Self { dir: dir.to_owned(), secret, before: BTreeMap::new() };
        outside.before = outside.snapshot()?;
        Ok(outside)
    }

    /// What is there now is what it was: the harness itself has changed something.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn settle(&mut self) -> io::Result<()> {
        self.before = self.snapshot()?;
        Ok(())
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the file `secret` says.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// What changed since: names, kinds, owners, modes, times of modification, bytes.
    ///
    /// # Errors
    /// It cannot be read any more, which is a change of its own.
    pub fn changes(&self) -> io::Result<Vec<String>> {
        let after = self.snapshot()?;
        let mut changes = Vec::new();
        for (path, state) in &after {
            match self.before.get(path) {
                None => changes.push(format!("{} was made", path.display())),
                Some(before) if before != state => {
                    changes.push(format!("{} changed: {before} to {state}", path.display()));
                }
                Some(_) => {}
            }
        }
        let gone = self.before.keys().filter(|path| !after.contains_key(*path));
        changes.extend(gone.map(|path| format!("{} is gone", path.display())));
        Ok(changes)
    }

    /// What of it cannot be used any more by an attack that would reach it.
    pub fn dead(&self) -> Vec<String> {
        let secret = fs::read_to_string(self.dir.join("secret")).unwrap_or_default();
        let alive = secret.trim_end() == self.secret && self.dir.join("writable").exists();
        if alive { Vec::new() } else { vec!["the files of the canary directory".to_owned()] }
    }

    fn snapshot(&self) -> io::Result<BTreeMap<PathBuf, String>> {
        let mut states = BTreeMap::new();
        let mut left = vec![PathBuf::new()];
        while let Some(path) = left.pop() {
            let full = self.dir.join(&path);
            let meta = fs::symlink_metadata(&full)?;
            let kind = meta.file_type();
            // The harness's own sockets come and go with the harness.
            if kind.is_socket() && ["socket", "datagrams"].iter().any(|name| path == Path::new(name)) {
                continue;
            }
            let mut state = format!("mode {:o}, owner {}, links {}", meta.mode(), meta.uid(), meta.nlink());
            if kind.is_file() {
                let bytes = fs::read(&full)?;
                let _ = write!(state, ", {} bytes {}", bytes.len(), crate::digest::sha256(&bytes));
                let _ = write!(state, ", modified {}.{:09}", meta.mtime(), meta.mtime_nsec());
            }
            if kind.is_dir() {
                for entry in fs::read_dir(&full)? {
                    left.push(path.join(entry?.file_name()));
                }
            }
            states.insert(path, state);
        }
        Ok(states)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_is_seen() {
        let place = tempfile::tempdir().unwrap();
        let outside = Outside::set_out(&place.path().join("outside")).unwrap();
        assert_eq!(outside.changes().unwrap(), [""; 0]);
        let at = |name: &str| outside.dir().join(name);
        let seen = |what: &str| {
            let changes = outside.changes().unwrap();
            assert!(changes.iter().any(|change| change.contains(what)), "{what}: {changes:?}");
        };
        fs::write(at("new"), "").unwrap();
        seen("new was made");
        fs::write(at("folder/inner"), "changed").unwrap();
        seen("folder/inner changed");
        fs::remove_file(at("writable")).unwrap();
        seen("writable is gone");
        assert_eq!(outside.dead().len(), 1);
        fs::set_permissions(at("secret"), fs::Permissions::from_mode(0o600)).unwrap();
        seen("secret changed");
    }
}
