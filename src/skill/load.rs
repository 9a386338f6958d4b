//! The bytes of a skill: read once, hashed, and those very bytes are what the jail gets.

use super::digest::Digest;
use super::finding::shown;
use super::package::Entry;
use super::{Skill, SkillError};
use nix::errno::Errno;

/// A file with the bytes that were hashed.
#[derive(Clone, PartialEq, Eq)]
pub struct File {
    /// Path relative to the skill.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Of the content.
    pub sha256: Digest,
}

/// The skill's files, sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loaded {
    /// What goes into the jail.
    pub files: Vec<File>,
    /// What does not: protected files and compiled Python. Their bytes are not kept.
    pub left_out: Vec<Fingerprint>,
}

/// A file without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// Path relative to the skill.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Of the content.
    pub sha256: Digest,
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} ({} bytes)", self.sha256, self.path, self.bytes.len())
    }
}

impl Loaded {
    /// The digest of the skill: of what the jail gets, see [`Digest::of_files`].
    pub fn digest(&self) -> Digest {
        Digest::of_files(self.files.iter().map(|file| (file.path.as_str(), file.sha256)))
    }

    /// Every file, with and without bytes, sorted by path.
    pub fn fingerprints(&self) -> Vec<Fingerprint> {
        let size = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let kept = self.files.iter().map(|file| Fingerprint {
            path: file.path.clone(),
            size: size(&file.bytes),
            sha256: file.sha256,
        });
        let mut all: Vec<Fingerprint> = kept.chain(self.left_out.iter().cloned()).collect();
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all
    }
}

/// Whether the jail does without a file: protected ones, and compiled Python, which an interpreter may prefer to the
/// source that was reviewed.
pub fn left_out(entry: &Entry) -> bool {
    entry.protected || entry.path.split('/').any(|part| part == "__pycache__")
}

impl Skill {
    /// Reads every file once.
    ///
    /// # Errors
    ///
    /// [`SkillError::Changed`] if a file is not the one that was listed, or SKILL.md, `xray.json` or `.skillenv` hold other
    /// bytes than those that were judged; [`SkillError::Package`] if one cannot be read.
    pub fn load(&self) -> Result<Loaded, SkillError> {
        let mut loaded = Loaded::default();
        for entry in &self.listing().entries {
            let bytes = self.package().read_entry(entry).map_err(|error| match error.errno {
                Errno::ESTALE | Errno::ENOENT | Errno::ELOOP => self.changed(&entry.path),
                _ => error.into(),
            })?;
            let sha256 = Digest::of(&bytes);
            if self.parsed.iter().any(|(path, parsed)| *path == entry.path && *parsed != sha256) {
                return Err(self.changed(&entry.path));
            }
            if left_out(entry) {
                loaded.left_out.push(Fingerprint { path: entry.path.clone(), size: entry.size, sha256 });
            } else {
                loaded.files.push(File { path: entry.path.clone(), bytes, sha256 });
            }
        }
        Ok(loaded)
    }

    fn changed(&self, path: &str) -> SkillError {
        SkillError::Changed { name: self.name().to_owned(), path: shown(path) }
    }
}
