//! Opens a tree for a run: what is executed later is the file descriptor that is checked here.

use super::lock::{self, Entry, FORMAT, IDENTITY, Identity, KeyFile, Package};
use super::{RuntimeError, sets, verify};
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::stat::{FileStat, Mode, fstat};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The largest `runtime.identity` that is read, in bytes: far above what a real tree has.
const IDENTITY_MAX: u64 = 1 << 20;

/// How much is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// The head and the key files, by inode and times: see the [module](super).
    Identity,
    /// Every file, by its sum.
    Full,
}

/// How a tree was verified; serialised `identity` or `full`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verified {
    /// See [`Verify::Identity`].
    Identity,
    /// See [`Verify::Full`].
    Full,
}

impl Verified {
    /// The word of the result document.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Full => "full",
        }
    }
}

/// A verified tree.
#[derive(Debug)]
pub struct Runtime {
    root: PathBuf,
    directory: OwnedFd,
    interpreter: OwnedFd,
    identity: Identity,
    verified: Verified,
    argv_prefix: Vec<String>,
    env: Vec<(&'static str, String)>,
}

impl Runtime {
    /// Opens and verifies the tree at `root`.
    ///
    /// # Errors
    /// [`RuntimeError::Refused`] for a tree that others could have changed, [`RuntimeError::Lock`] for one that is
    /// damaged, [`RuntimeError::Drift`] for one that is not what was built.
    pub fn open(root: &Path, how: Verify) -> Result<Self, RuntimeError> {
        let opened = Opened::new(root)?;
        let identity = opened.identity()?;
        let mut interpreter = None;
        for key in &identity.keys {
            let file = opened.check(key)?;
            if key.entry.path == identity.head.interpreter {
                interpreter = Some(file);
            }
        }
        let interpreter = interpreter.ok_or_else(|| opened.damaged("it names no interpreter".to_owned()))?;
        let verified = match how {
            Verify::Identity => Verified::Identity,
            Verify::Full => {
                verify::whole(&opened, &identity)?;
                Verified::Full
            }
        };
        let argv_prefix = vec![format!("/{}", identity.head.interpreter), "-I".to_owned(), "-B".to_owned()];
        let env = environment(&identity, &opened)?;
        let directory = opened.directory;
        Ok(Self { root: root.to_path_buf(), directory, interpreter, identity, verified, argv_prefix, env })
    }

    /// The path that was opened.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The tree's directory (`O_PATH`): `usr` beneath it is what the jail binds.
    pub fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// The interpreter, open for reading: the very file that was checked, and what `execveat` gets.
    pub fn interpreter(&self) -> BorrowedFd<'_> {
        self.interpreter.as_fd()
    }

    /// `sha256:` and 64 hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.identity.digest
    }

    /// How it was verified.
    pub const fn verified(&self) -> Verified {
        self.verified
    }

    /// Such as `3.11.2`.
    pub fn python_version(&self) -> &str {
        &self.identity.head.python
    }

    /// The interpreter's path in the jail, such as `/usr/bin/python3.11`.
    pub fn interpreter_path(&self) -> String {
        format!("/{}", self.identity.head.interpreter)
    }

    /// The ELF loader's path in the jail, links resolved, such as `/usr/lib64/ld-linux-x86-64.so.2`.
    pub fn loader_path(&self) -> String {
        format!("/{}", self.identity.head.loader)
    }

    /// What comes before the script's path: `argv[0]` and the interpreter's options. Isolated mode ignores `PYTHON*`,
    /// the user's site and the working directory; `site` runs (`exit`, `quit`, `help`), and the tree's own start-up
    /// module then fixes `sys.path` to the standard library, its extension modules, site-packages, `/skill/scripts`.
    pub fn argv_prefix(&self) -> &[String] {
        &self.argv_prefix
    }

    /// The variables that this interpreter needs.
    pub fn env(&self) -> &[(&'static str, String)] {
        &self.env
    }

    /// The installed distributions, sorted by name.
    pub fn packages(&self) -> &[Package] {
        &self.identity.head.packages
    }

    /// The shipped sets that it was built with.
    pub fn sets(&self) -> &[String] {
        &self.identity.head.sets
    }

    /// An error with the exact command unless every package of the shipped set is installed.
    ///
    /// # Errors
    /// [`RuntimeError::NeedsSet`], or [`RuntimeError::Requirements`] for a name that is no shipped set.
    pub fn needs(&self, set: &str) -> Result<(), RuntimeError> {
        let Some(text) = sets::shipped(set) else {
            return Err(RuntimeError::Requirements {
                name: set.to_owned(),
                why: "no such set".to_owned(),
                hint: "shipped sets are data and tfrobot",
            });
        };
        let has = |name: &String| self.packages().iter().any(|package| &package.name == name);
        let missing: Vec<String> = sets::pinned_names(text).into_iter().filter(|name| !has(name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let mut out = self.root.clone().into_os_string();
        out.push("-");
        out.push(set);
        let (root, set) = (self.root.clone(), set.to_owned());
        Err(RuntimeError::NeedsSet { root, set, missing: missing.join(", "), out: out.into() })
    }
}

/// The names of variables that a tree may ask for: a closed list, so that a lock cannot set anything else.
fn environment(
    identity: &Identity,
    opened: &Opened<'_>,
) -> Result<Vec<(&'static str, String)>, RuntimeError> {
    let mut env = vec![("PYTHONDONTWRITEBYTECODE", "1".to_owned())];
    for (name, value) in &identity.head.env {
        match name.as_str() {
            "SSL_CERT_FILE" => env.push(("SSL_CERT_FILE", value.clone())),
            other => return Err(opened.damaged(format!("it asks for the variable {other}"))),
        }
    }
    Ok(env)
}

/// The tree's directory, checked for who may write to it.
pub(super) struct Opened<'a> {
    pub(super) root: &'a Path,
    pub(super) directory: OwnedFd,
}

impl<'a> Opened<'a> {
    pub(super) fn new(root: &'a Path) -> Result<Self, RuntimeError> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let directory = nix::fcntl::open(root, flags, Mode::empty())
            .map_err(RuntimeError::errno("open runtime", root))?;
        let opened = Self { root, directory };
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
        match owner_fault(stat.st_uid, stat.st_mode, nix::unistd::geteuid().as_raw()) {
            None => Ok(()),
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

    /// Checks one key file and returns it, open for reading.
    fn check(&self, key: &KeyFile) -> Result<OwnedFd, RuntimeError> {
        let Entry { path, sha256, size, mode } = &key.entry;
        let drift = |why: &str| RuntimeError::Drift {
            root: self.root.to_path_buf(),
            path: path.into(),
            why: why.to_owned(),
        };
        let fd = match self.open(path, OFlag::O_RDONLY) {
            Err(RuntimeError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Err(drift("it is missing"));
            }
            other => other?,
        };
        let stat = self.stat(&fd, path)?;
        self.kept_by_owner(&stat, path)?;
        if stat.st_mode & nix::libc::S_IFMT != nix::libc::S_IFREG {
            return Err(drift("it is no regular file"));
        }
        if u64::try_from(stat.st_size) != Ok(*size) {
            return Err(drift("its size is another"));
        }
        if format!("{:04o}", stat.st_mode & 0o7777) != *mode {
            return Err(drift("its mode is another"));
        }
        let same = stat.st_ino == key.ino
            && (stat.st_mtime, stat.st_mtime_nsec) == key.mtime
            && (stat.st_ctime, stat.st_ctime_nsec) == key.ctime;
        if !same && verify::sum(&fd).map_err(RuntimeError::io("read", self.root.join(path)))? != *sha256 {
            return Err(drift("its bytes are others"));
        }
        Ok(fd)
    }
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
