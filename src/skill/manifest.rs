//! The manifest: the digest of every file of every skill, so that what runs is what was reviewed.

use super::digest::Digest;
use super::discover::skills_below;
use super::finding::shown;
use super::json;
use super::load::Loaded;
use super::{Skill, SkillError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The version of the format.
pub const VERSION: u32 = 1;
/// A manifest has at most this many bytes.
pub const MAX_BYTES: u64 = 64 << 20;

/// A manifest of skills; its JSON is the same bytes for the same files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`VERSION`]
    pub version: u32,
    /// By name.
    pub skills: BTreeMap<String, Entry>,
}

/// One skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The word of its runtime.
    pub tier: String,
    /// The digest of what the jail gets, see [`Digest::of_files`].
    pub digest: String,
    /// The keys of its scripts, sorted.
    pub scripts: Vec<String>,
    /// Every file, by path: those that the jail does not get as well.
    pub files: BTreeMap<String, FileEntry>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
}

/// The manifest cannot be used: its author's fault.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It is no manifest.
    #[error("manifest: {0}\nhint: skilljail manifest build writes one")]
    Malformed(String),
    /// A skill that it should hold is refused.
    #[error(transparent)]
    Skill(#[from] SkillError),
    /// Two folders have one name.
    #[error(
        "two skills are named {name}: {first} and {second}\nhint: rename one; only the first would ever be found"
    )]
    SameName {
        /// The name.
        name: String,
        /// The first folder.
        first: String,
        /// The second folder.
        second: String,
    },
}

/// How a skill differs from the manifest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Drift {
    /// The skill.
    pub skill: String,
    /// The file; empty for the skill as a whole.
    pub path: String,
    /// What happened to it.
    pub change: Change,
}

/// The kinds of drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// It is there and not in the manifest.
    Added,
    /// It is in the manifest and not there.
    Missing,
    /// Its bytes are other ones.
    Changed,
}

impl std::fmt::Display for Drift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let change = match self.change {
            Change::Added => "added",
            Change::Missing => "missing",
            Change::Changed => "changed",
        };
        let slash = if self.path.is_empty() { "" } else { "/" };
        write!(f, "{change} {}{slash}{}", shown(&self.skill), shown(&self.path))
    }
}

/// A skill is not the one that was reviewed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "skill {skill} differs from the manifest: {}\nhint: review the change, then skilljail manifest build",
    few(drifts)
)]
pub struct DriftError {
    /// The skill.
    pub skill: String,
    /// Each difference; never empty.
    pub drifts: Vec<Drift>,
}

fn few(drifts: &[Drift]) -> String {
    let mut words: Vec<String> = drifts.iter().take(5).map(ToString::to_string).collect();
    if drifts.len() > 5 {
        words.push(format!("and {} more", drifts.len() - 5));
    }
    words.join(", ")
}

impl Entry {
    /// Of a skill and the bytes that were read from it.
    pub fn of(skill: &Skill, loaded: &Loaded) -> Self {
        let mut scripts: Vec<String> =
            skill.contract().map(|c| c.scripts.iter().map(|s| s.key.clone()).collect()).unwrap_or_default();
        scripts.sort();
        let files = loaded
            .fingerprints()
            .into_iter()
            .map(|file| (file.path, FileEntry { sha256: file.sha256.to_string(), size: file.size }))
            .collect();
        Self { tier: skill.tier().word().to_owned(), digest: loaded.digest().to_string(), scripts, files }
    }

    /// How `found` differs from this entry.
    fn drifts(&self, skill: &str, found: &Self) -> Vec<Drift> {
        let paths: BTreeSet<&String> = self.files.keys().chain(found.files.keys()).collect();
        let mut drifts: Vec<Drift> = paths
            .into_iter()
            .filter_map(|path| {
                let change = match (self.files.get(path), found.files.get(path)) {
                    (None, _) => Change::Added,
                    (_, None) => Change::Missing,
                    (was, is) if was == is => return None,
                    _ => Change::Changed,
                };
                Some(Drift { skill: skill.to_owned(), path: path.clone(), change })
            })
            .collect();
        // The other fields follow from the files; a manifest in which they do not was edited by hand.
        if drifts.is_empty() && self != found {
            drifts.push(Drift { skill: skill.to_owned(), path: String::new(), change: Change::Changed });
        }
        drifts
    }
}

impl Manifest {
    /// Of one skill and the bytes that were read from it.
    pub fn of(skill: &Skill, loaded: &Loaded) -> Self {
        Self { version: VERSION, skills: [(skill.name().to_owned(), Entry::of(skill, loaded))].into() }
    }

    /// Of every skill below a directory. One skill's bytes are in memory at a time.
    ///
    /// # Errors
    ///
    /// A skill is refused, two have one name, or the directory cannot be searched: a manifest of a part would be none.
    pub fn of_directory(directory: &Path) -> Result<Self, ManifestError> {
        let mut skills = BTreeMap::new();
        let mut folders: BTreeMap<String, String> = BTreeMap::new();
        for folder in skills_below(directory).map_err(SkillError::from)? {
            let skill = Skill::open(&folder)?;
            let (name, place) = (skill.name().to_owned(), shown(&folder.to_string_lossy()));
            if let Some(first) = folders.insert(name.clone(), place.clone()) {
                return Err(ManifestError::SameName { name, first, second: place });
            }
            let loaded = skill.load()?;
            skills.insert(name, Entry::of(&skill, &loaded));
        }
        Ok(Self { version: VERSION, skills })
    }

    /// Reads a manifest.
    ///
    /// # Errors
    ///
    /// [`ManifestError::Malformed`]: no JSON, keys twice, unknown keys, another version, a digest that is none.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let malformed = |what: String| ManifestError::Malformed(what);
        json::parse(bytes).map_err(|fault| {
            let (line, column) = json::place(bytes, fault.at);
            malformed(format!("line {line}, column {column}: {}", fault.what))
        })?;
        let manifest: Self = serde_json::from_slice(bytes).map_err(|error| malformed(error.to_string()))?;
        if manifest.version != VERSION {
            return Err(malformed(format!("version {} is not {VERSION}", manifest.version)));
        }
        let digests = manifest.skills.values().flat_map(|entry| {
            entry
                .files
                .values()
                .map(|file| file.sha256.as_str())
                .chain(std::iter::once(entry.digest.as_str()))
        });
        for digest in digests {
            if Digest::from_hex(digest).is_none() {
                return Err(malformed(format!("`{}` is no SHA-256 digest", shown(digest))));
            }
        }
        Ok(manifest)
    }

    /// The bytes of `manifest.json`.
    ///
    /// # Errors
    ///
    /// None in practice: every value is a text or a number.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// The same data as a TypeScript module.
    ///
    /// # Errors
    ///
    /// As [`Manifest::to_json`].
    pub fn to_typescript(&self) -> Result<String, serde_json::Error> {
        let json = serde_json::to_string_pretty(self)?;
        Ok(format!(
            "// Made by `skilljail manifest build --format ts`; do not edit.\n\n\
             export interface FileEntry {{\n  readonly sha256: string;\n  readonly size: number;\n}}\n\n\
             export interface SkillEntry {{\n  readonly tier: string;\n  readonly digest: string;\n  \
             readonly scripts: readonly string[];\n  readonly files: Readonly<Record<string, FileEntry>>;\n}}\n\n\
             export interface Manifest {{\n  readonly version: {VERSION};\n  \
             readonly skills: Readonly<Record<string, SkillEntry>>;\n}}\n\n\
             export const manifest: Manifest = {json};\n\nexport default manifest;\n"
        ))
    }

    /// Compares one skill, by the bytes that were read from it.
    ///
    /// # Errors
    ///
    /// Each file that is added, missing or changed; a skill that the manifest does not hold is added as a whole.
    pub fn verify(&self, skill: &Skill, loaded: &Loaded) -> Result<(), DriftError> {
        let name = skill.name().to_owned();
        let drifts = match self.skills.get(&name) {
            Some(entry) => entry.drifts(&name, &Entry::of(skill, loaded)),
            None => vec![Drift { skill: name.clone(), path: String::new(), change: Change::Added }],
        };
        if drifts.is_empty() { Ok(()) } else { Err(DriftError { skill: name, drifts }) }
    }

    /// Compares whole sets of skills.
    pub fn drifts(&self, found: &Self) -> Vec<Drift> {
        let names: BTreeSet<&String> = self.skills.keys().chain(found.skills.keys()).collect();
        let whole = |name: &String, change| vec![Drift { skill: name.clone(), path: String::new(), change }];
        names
            .into_iter()
            .flat_map(|name| match (self.skills.get(name), found.skills.get(name)) {
                (Some(was), Some(is)) => was.drifts(name, is),
                (None, _) => whole(name, Change::Added),
                (_, None) => whole(name, Change::Missing),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn drift_is_told_file_by_file() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("a");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("SKILL.md"), "---\nname: a\ndescription: d\n---\n").unwrap();
        fs::write(root.join("b.txt"), "b").unwrap();
        fs::write(root.join("c.txt"), "c").unwrap();
        let open = || {
            let skill = Skill::open(&root).unwrap();
            let loaded = skill.load().unwrap();
            (skill, loaded)
        };
        let (skill, loaded) = open();
        let text = Manifest::of(&skill, &loaded).to_json().unwrap();
        let manifest = Manifest::parse(text.as_bytes()).unwrap();
        assert_eq!(manifest.to_json().unwrap(), text);
        manifest.verify(&skill, &loaded).unwrap();

        fs::write(root.join("b.txt"), "B").unwrap();
        fs::rename(root.join("c.txt"), root.join("d.txt")).unwrap();
        let (skill, loaded) = open();
        let error = manifest.verify(&skill, &loaded).unwrap_err();
        let words: Vec<String> = error.drifts.iter().map(ToString::to_string).collect();
        assert_eq!(words, ["changed a/b.txt", "missing a/c.txt", "added a/d.txt"]);

        let empty = Manifest { version: VERSION, skills: BTreeMap::new() };
        assert_eq!(empty.verify(&skill, &loaded).unwrap_err().drifts[0].to_string(), "added a");
        assert_eq!(manifest.drifts(&empty)[0].to_string(), "missing a");
    }

    #[test]
    fn a_digest_edited_by_hand_is_drift() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("SKILL.md"), "---\nname: a\ndescription: d\n---\n").unwrap();
        let skill = Skill::examine(dir.path()).unwrap();
        let loaded = skill.load().unwrap();
        let mut manifest = Manifest::of(&skill, &loaded);
        manifest.skills.get_mut("a").unwrap().digest = "0".repeat(64);
        assert_eq!(manifest.verify(&skill, &loaded).unwrap_err().drifts[0].to_string(), "changed a");
    }

    #[test]
    fn what_is_no_manifest_is_refused() {
        for text in [
            "",
            "{}",
            r#"{"version":1}"#,
            r#"{"version":2,"skills":{}}"#,
            r#"{"version":1,"skills":{},"skills":{}}"#,
            r#"{"version":1,"skills":{},"more":1}"#,
            r#"{"version":1,"skills":{"a":{"tier":"x","digest":"y","scripts":[],"files":{}}}}"#,
        ] {
            let error = Manifest::parse(text.as_bytes()).unwrap_err();
            assert!(matches!(error, ManifestError::Malformed(_)), "{text}");
        }
    }
}
