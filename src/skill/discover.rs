//! Which skills are in a directory that the caller named. Nothing is looked for anywhere else.

use super::finding::shown;
use std::collections::{HashSet, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Skills lie at most this many folders below the directory.
pub const MAX_DEPTH: usize = 8;
/// At most this many folders are looked into.
pub const MAX_FOLDERS: usize = 20_000;

/// The directory cannot be searched: the caller's fault.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// It is not there, or may not be read.
    #[error("cannot search {path}: {source}\nhint: --skills names a directory whose folders are skills")]
    Unreadable {
        /// The directory.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// There is too much below it.
    #[error(
        "more than {MAX_FOLDERS} folders below {path}\nhint: --skills names a directory that holds skills and little else"
    )]
    TooMany {
        /// The directory.
        path: String,
    },
}

/// The folders with a SKILL.md (in any letters, so that a wrong one can be told) below `dir`: nearest first; on one level
/// real folders before symlinked ones, each by name. Recursion stops at a skill; hidden folders and `node_modules`
/// are skipped; one real folder is found once.
///
/// # Errors
///
/// The directory itself cannot be read, or is far too big. A folder below it that cannot be read is skipped.
pub fn skills_below(dir: &Path) -> Result<Vec<PathBuf>, DiscoverError> {
    let path = || shown(&dir.to_string_lossy());
    let root = fs::canonicalize(dir).map_err(|source| DiscoverError::Unreadable { path: path(), source })?;
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut queue = VecDeque::from([(root.clone(), 0)]);
    while let Some((folder, depth)) = queue.pop_front() {
        let Ok(meta) = fs::metadata(&folder) else { continue };
        if !meta.is_dir() || !seen.insert((meta.dev(), meta.ino())) {
            continue;
        }
        if seen.len() > MAX_FOLDERS {
            return Err(DiscoverError::TooMany { path: path() });
        }
        match look(&folder) {
            Ok(Folder::Skill) => found.push(fs::canonicalize(&folder).unwrap_or(folder)),
            Ok(Folder::Other(below)) if depth < MAX_DEPTH => {
                queue.extend(below.into_iter().map(|below| (below, depth + 1)));
            }
            Err(source) if folder == root => return Err(DiscoverError::Unreadable { path: path(), source }),
            Ok(Folder::Other(_)) | Err(_) => {}
        }
    }
    Ok(found)
}

enum Folder {
    Skill,
    Other(Vec<PathBuf>),
}

fn look(folder: &Path) -> std::io::Result<Folder> {
    let mut below = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let text = name.to_string_lossy();
        let kind = entry.file_type()?;
        if text.eq_ignore_ascii_case("skill.md") && !kind.is_dir() {
            return Ok(Folder::Skill);
        }
        if (kind.is_dir() || kind.is_symlink()) && !text.starts_with('.') && text != "node_modules" {
            below.push((kind.is_symlink(), name));
        }
        if below.len() > MAX_FOLDERS {
            break;
        }
    }
    below.sort();
    Ok(Folder::Other(below.into_iter().map(|(_, name)| folder.join(name)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn order_stops_and_skips() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["b", "a/c", "b/inner", ".hidden/x", "node_modules/x", "a/b", "w"] {
            fs::create_dir_all(root.join(folder)).unwrap();
            fs::write(root.join(folder).join("SKILL.md"), "").unwrap();
        }
        fs::rename(root.join("w/SKILL.md"), root.join("w/skill.md")).unwrap();
        symlink("b", root.join("again")).unwrap();
        symlink("..", root.join("a/loop")).unwrap();
        let found = skills_below(&root).unwrap();
        let names: Vec<&Path> = found.iter().map(|path| path.strip_prefix(&root).unwrap()).collect();
        assert_eq!(names, ["b", "w", "a/b", "a/c"].map(Path::new));
    }

    #[test]
    fn a_directory_that_is_not_there_is_told() {
        let error = skills_below(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    }
}
