//! Opens a tree for a run: what is executed later is the file descriptor that is checked here.

use super::lock::{Identity, Package};
use super::opened::Opened;
use super::{RuntimeError, sets, verify};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

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
            if key.entry.path == identity.head.interpreter {
                interpreter = Some(opened.check_open(key)?);
            } else {
                opened.check(key)?;
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
                why: "no such set (the skill's `metadata.requirements` names it)".to_owned(),
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
