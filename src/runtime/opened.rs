//! A tree's directory and its key files: who may have written to them, and whether they are what was built.

use super::lock::{self, Entry, FORMAT, IDENTITY, Identity, KeyFile};
use super::{RuntimeError, verify};
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::stat::{FileStat, Mode, fstat, fstatat};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::Path;

/// The largest `runtime.identity` that is read, in bytes: far above what a real tree has.
const IDENTITY_MAX: u64 = 1 << 20;

/// The tree's directory, checked for who may write to it.
pub(super) struct Opened<'a> {
    pub(super) root: &'a Path,
    pub(super) directory: OwnedFd,
    caller: u32,
}

impl<'a> Opened<'a> {
    pub(super) fn new(root: &'a Path) -> Result<Self, RuntimeError> {
        // Of a folder that is something else, who may write to it is no news.
        Self::of(root).map_err(|error| match root.join(IDENTITY).symlink_metadata() {
            Err(absent) if absent.kind() == std::io::ErrorKind::NotFound && root.is_dir() => {
                RuntimeError::NotOne { path: root.to_path_buf(), missing: IDENTITY }
            }
            _ => error,
        })
    }

    fn of(root: &'a Path) -> Result<Self, RuntimeError> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let directory = nix::fcntl::open(root, flags, Mode::empty())
            .map_err(RuntimeError::errno("open runtime", root))?;
        let opened = Self { root, directory, caller: nix::unistd::geteuid().as_raw() };
        opened.kept_by_owner(&opened.stat(&opened.directory, ".")?, ".")?;
        let usr = opened.open("usr", OFlag::O_PATH | OFlag::O_DIRECTORY)?;
        opened.kept_by_owner(&opened.stat(&usr, "usr")?, "usr")?;
        Ok(opened)
    }

    /// Opens beneath the tree, through no link.
    pub(super) fn open(&self, relative: &str, flags: OFlag) -> Result<OwnedFd, RuntimeError> {
        let how = OpenHow::new().flags(flags | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW).resolve(
            ResolveFlag::RESOLVE_BENEATH
                | ResolveFlag::RESOLVE_NO_SYMLINKS
                | ResolveFlag::RESOLVE_NO_MAGICLINKS,
        );
        openat2(&self.directory, relative, how).map_err(RuntimeError::errno("open", self.root.join(relative)))
    }

    fn stat(&self, fd: &OwnedFd, relative: &str) -> Result<FileStat, RuntimeError> {
        fstat(fd).map_err(RuntimeError::errno("stat", self.root.join(relative)))
    }

    fn kept_by_owner(&self, stat: &FileStat, relative: &str) -> Result<(), RuntimeError> {
        match owner_fault(stat.st_uid, stat.st_mode, self.caller) {
            None => Ok(()),
            Some(why) if relative == "." => Err(RuntimeError::Refused { path: self.root.to_path_buf(), why }),
            Some(why) => Err(RuntimeError::Refused { path: self.root.join(relative), why }),
        }
    }

    pub(super) fn damaged(&self, why: String) -> RuntimeError {
        RuntimeError::Lock { path: self.root.join(IDENTITY), why }
    }

    /// Reads a file beside `usr`, at most `limit` bytes.
    pub(super) fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, RuntimeError> {
        let fd = self.open(name, OFlag::O_RDONLY)?;
        self.kept_by_owner(&self.stat(&fd, name)?, name)?;
        let mut bytes = Vec::new();
        File::from(fd)
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(RuntimeError::io("read", self.root.join(name)))?;
        Ok(bytes)
    }

    /// Reads `runtime.identity`, and shows that its head and its key files' sums belong to its digest.
    pub(super) fn identity(&self) -> Result<Identity, RuntimeError> {
        let bytes = self.read(IDENTITY, IDENTITY_MAX)?;
        let identity: Identity =
            serde_json::from_slice(&bytes).map_err(|error| self.damaged(error.to_string()))?;
        if identity.format != FORMAT {
            return Err(self.damaged(format!("format {}, this program knows {FORMAT}", identity.format)));
        }
        let sum = lock::digest(&identity.head, identity.keys.iter().map(|key| &key.entry), &identity.rest);
        if sum != identity.digest {
            return Err(self.damaged("its digest is not that of what it lists".to_owned()));
        }
        identity.head.check().map_err(|why| self.damaged(why))?;
        let key = |path: &str| identity.keys.iter().any(|key| key.entry.path == path);
        if !key(&identity.head.interpreter) || !key(&identity.head.loader) {
            return Err(self.damaged("interpreter and loader are not among its key files".to_owned()));
        }
        Ok(identity)
    }

    /// Checks one key file by one look at it, or by its bytes where that look does not tell enough.
    pub(super) fn check(&self, key: &KeyFile) -> Result<(), RuntimeError> {
        // A link on the way would lead to another inode, which the bytes then have to speak for; so no openat2 here.
        let stat = fstatat(&self.directory, key.entry.path.as_str(), AtFlags::AT_SYMLINK_NOFOLLOW)
            .map_err(|errno| self.absent(&key.entry.path, errno))?;
        self.agrees(&stat, &key.entry)?;
        if same_inode(&stat, key) { Ok(()) } else { self.check_open(key).map(drop) }
    }

    /// Checks one key file and returns it, open for reading.
    pub(super) fn check_open(&self, key: &KeyFile) -> Result<OwnedFd, RuntimeError> {
        let path = &key.entry.path;
        let fd = self.open(path, OFlag::O_RDONLY | OFlag::O_NONBLOCK).map_err(|error| match error {
            RuntimeError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                self.drift(path, "it is missing")
            }
            other => other,
        })?;
        let stat = self.stat(&fd, path)?;
        self.agrees(&stat, &key.entry)?;
        let same = same_inode(&stat, key);
        if !same
            && verify::sum(&fd).map_err(RuntimeError::io("read", self.root.join(path)))? != key.entry.sha256
        {
            return Err(self.drift(path, "its bytes are others"));
        }
        Ok(fd)
    }

    /// Owner, kind, size and mode.
    fn agrees(&self, stat: &FileStat, entry: &Entry) -> Result<(), RuntimeError> {
        self.kept_by_owner(stat, &entry.path)?;
        if stat.st_mode & nix::libc::S_IFMT != nix::libc::S_IFREG {
            return Err(self.drift(&entry.path, "it is no regular file"));
        }
        if u64::try_from(stat.st_size) != Ok(entry.size) {
            return Err(self.drift(&entry.path, "its size is another"));
        }
        if u32::from_str_radix(&entry.mode, 8) != Ok(stat.st_mode & 0o7777) {
            return Err(self.drift(&entry.path, "its mode is another"));
        }
        Ok(())
    }

    fn drift(&self, path: &str, why: &str) -> RuntimeError {
        RuntimeError::Drift { root: self.root.to_path_buf(), path: path.into(), why: why.to_owned() }
    }

    fn absent(&self, path: &str, errno: nix::errno::Errno) -> RuntimeError {
        match errno {
            nix::errno::Errno::ENOENT => self.drift(path, "it is missing"),
            other => RuntimeError::errno("stat", self.root.join(path))(other),
        }
    }
}

/// What a file system changes with each write, and nobody can set back: the change time above all.
fn same_inode(stat: &FileStat, key: &KeyFile) -> bool {
    stat.st_ino == key.ino
        && (stat.st_mtime, stat.st_mtime_nsec) == key.mtime
        && (stat.st_ctime, stat.st_ctime_nsec) == key.ctime
}

/// Nobody but root and the caller may have been able to write.
fn owner_fault(owner: u32, mode: u32, caller: u32) -> Option<String> {
    if owner != 0 && owner != caller {
        return Some(format!("it belongs to uid {owner}, neither root nor the caller"));
    }
    (mode & 0o022 != 0).then(|| format!("group or others can write to it (mode {:04o})", mode & 0o7777))
}

#[cfg(test)]
mod tests {
    use super::owner_fault;

    #[test]
    fn only_root_and_the_caller_may_have_written() {
        for (owner, mode, caller, refused) in [
            (0, 0o755, 1000, false),
            (1000, 0o755, 1000, false),
            (0, 0o555, 0, false),
            (1000, 0o755, 0, true),
            (1001, 0o755, 1000, true),
            (1000, 0o775, 1000, true),
            (0, 0o757, 1000, true),
            (0, 0o1777, 1000, true),
        ] {
            assert_eq!(owner_fault(owner, mode, caller).is_some(), refused, "{owner} {mode:o} {caller}");
        }
    }
}
