//! The folder of a skill: opened once, listed and read beneath that one fd.
//!
//! No path is resolved twice. The kernel decides what is beneath (`openat2`); what was listed is compared, by
//! device and inode, with what is opened later.

use super::finding::{Finding, shown};
use super::rules;
use crate::sys::openat2::openat2;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, ResolveFlag};
use nix::sys::stat::{FileStat, SFlag, fstat, fstatat};
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A skill has at most this many files and folders.
pub const MAX_ENTRIES: usize = 4_096;
/// A file has at most this many bytes.
pub const MAX_FILE: u64 = 16 << 20;
/// All files together have at most this many bytes.
pub const MAX_TOTAL: u64 = 64 << 20;
/// Folders nest at most this deep.
pub const MAX_DEPTH: usize = 16;

/// An open skill folder.
#[derive(Debug)]
pub struct Package {
    root: OwnedFd,
    location: PathBuf,
}

const FIND: &str = "find skill";
const HINT: &str = "\nhint: name the folder that holds its SKILL.md";

/// Why a folder, or a file in it, could not be opened or read.
#[derive(Debug, thiserror::Error)]
#[error("{step} {path}: {}{}", explain(*errno), if *step == FIND { HINT } else { "" })]
pub struct PackageError {
    /// What was attempted.
    pub step: &'static str,
    /// On what.
    pub path: String,
    /// The kernel's answer.
    pub errno: Errno,
}

/// The kernel's answer in words that fit a path beneath a skill.
fn explain(errno: Errno) -> String {
    match errno {
        Errno::EXDEV => "the path leaves the skill".to_owned(),
        Errno::ELOOP => "a symlink is in the way, or too many of them".to_owned(),
        Errno::ENOTDIR => "not a folder".to_owned(),
        Errno::ENOSYS => "this kernel has no openat2\nhint: Linux 5.6 or later is needed".to_owned(),
        Errno::EAGAIN => "the folder is being renamed all the time".to_owned(),
        other => std::io::Error::from(other).to_string(),
    }
}

/// Identity of a file on this host while it is open.
pub type FileId = (u64, u64);

/// One file of the package: regular, or a symlink to a regular file of the package.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Path relative to the skill, `/` between its parts.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Device and inode of the file itself, behind the link if it is one.
    pub id: FileId,
    /// Whether the name is a symlink.
    pub link: bool,
    /// Whether the file is never shown and never in the jail: see [`protected`].
    pub protected: bool,
}

/// What is in the folder.
#[derive(Debug, Default)]
pub struct Listing {
    /// Files, sorted by path as bytes.
    pub entries: Vec<Entry>,
    /// What is wrong with the tree.
    pub findings: Vec<Finding>,
    /// All of it was seen: no bound was reached.
    pub complete: bool,
}

impl Listing {
    /// The entry of that path.
    pub fn entry(&self, path: &str) -> Option<&Entry> {
        self.entries
            .binary_search_by(|entry| entry.path.as_str().cmp(path))
            .ok()
            .and_then(|at| self.entries.get(at))
    }

    /// Identities of the protected files.
    pub fn protected_ids(&self) -> HashSet<FileId> {
        self.entries.iter().filter(|entry| entry.protected).map(|entry| entry.id).collect()
    }
}

/// Whether a path names a protected file: `.skillenv*` or `*.dockerfile` in any of its parts, whatever the case.
pub fn protected(path: &str) -> bool {
    path.split('/').any(|part| {
        let part = fold(part);
        part.starts_with(".skillenv") || part.ends_with(".dockerfile")
    })
}

/// Folds case both ways, so that letters with several lower or upper forms meet (`ſ` and `s`, the Kelvin sign and `k`).
fn fold(text: &str) -> String {
    text.to_uppercase().to_lowercase()
}

fn id_of(stat: &FileStat) -> FileId {
    (stat.st_dev, stat.st_ino)
}

fn kind_of(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

impl Package {
    /// Opens the folder at `path`. Symlinks on the way to it are the caller's business and are followed, once.
    ///
    /// # Errors
    ///
    /// The caller's fault mostly: it does not exist, is no folder, may not be searched.
    pub fn open(path: &Path) -> Result<Self, PackageError> {
        let fail = |step, errno| PackageError { step, path: shown(&path.to_string_lossy()), errno };
        let location = std::fs::canonicalize(path)
            .map_err(|error| fail(FIND, error.raw_os_error().map_or(Errno::UnknownErrno, Errno::from_raw)))?;
        // The canonical path has no symlinks; should one have been planted since, this open refuses it.
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
        let resolve = ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_NO_MAGICLINKS;
        let cwd = nix::fcntl::AT_FDCWD;
        let root =
            openat2(cwd, location.as_os_str(), flags, resolve).map_err(|errno| fail("open skill", errno))?;
        Ok(Self { root, location })
    }

    /// The canonical path of the folder at the time it was opened.
    pub fn location(&self) -> &Path {
        &self.location
    }

    /// The folder's own name, if it is UTF-8.
    pub fn folder(&self) -> Option<&str> {
        self.location.file_name().and_then(OsStr::to_str)
    }

    /// The folder's fd.
    pub fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Opens a path beneath the skill. Symlinks that stay inside are followed.
    pub(super) fn beneath(&self, path: &str, flags: OFlag, resolve: ResolveFlag) -> Result<OwnedFd, Errno> {
        let resolve = resolve | ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS;
        openat2(&self.root, OsStr::new(path), flags, resolve)
    }

    /// Reads a regular file beneath the skill, up to `max` bytes; `None` if there is none of that name.
    ///
    /// # Errors
    ///
    /// `EFBIG` if it is longer than `max`, `EINVAL` if it is not a regular file, else the kernel's errno.
    pub fn read(&self, path: &str, max: u64) -> Result<Option<Vec<u8>>, PackageError> {
        let fail = |errno| PackageError { step: "read", path: shown(path), errno };
        // O_NONBLOCK: opening a fifo must not wait for somebody to write.
        match self.beneath(path, OFlag::O_RDONLY | OFlag::O_NONBLOCK, ResolveFlag::empty()) {
            Ok(fd) => read_regular(fd, max, None).map(Some).map_err(fail),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(fail(errno)),
        }
    }

    /// Reads a listed file, and makes sure that it is still the one that was listed.
    ///
    /// # Errors
    ///
    /// `ESTALE` if another file has taken its place or its size has changed, else as [`Package::read`].
    pub fn read_entry(&self, entry: &Entry) -> Result<Vec<u8>, PackageError> {
        let resolve = if entry.link { ResolveFlag::empty() } else { ResolveFlag::RESOLVE_NO_SYMLINKS };
        self.beneath(&entry.path, OFlag::O_RDONLY | OFlag::O_NONBLOCK, resolve)
            .and_then(|fd| read_regular(fd, entry.size, Some(entry)))
            .map_err(|errno| PackageError { step: "read", path: shown(&entry.path), errno })
    }

    /// Lists the folder.
    pub fn list(&self) -> Listing {
        let mut walk =
            Walk { package: self, listing: Listing::default(), seen: 0, total: 0, folded: HashMap::new() };
        walk.listing.complete = true;
        walk.folder(&self.root, "", 0);
        let mut listing = walk.listing;
        listing.entries.sort_by(|a, b| a.path.cmp(&b.path));
        let ids = listing.protected_ids();
        let second: Vec<Finding> = listing
            .entries
            .iter()
            .filter(|entry| !entry.protected && ids.contains(&entry.id))
            .map(|entry| {
                Finding::of(&rules::LINK_PROTECTED, &shown(&entry.path), "another name of a protected file")
            })
            .collect();
        listing.findings.extend(second);
        listing
    }
}

/// Reads an open regular file of at most `max` bytes, which must be `entry` if one is given.
pub(super) fn read_regular(fd: OwnedFd, max: u64, entry: Option<&Entry>) -> Result<Vec<u8>, Errno> {
    let stat = fstat(&fd)?;
    if kind_of(&stat) != SFlag::S_IFREG {
        return Err(Errno::EINVAL);
    }
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if entry.is_some_and(|entry| entry.id != id_of(&stat) || entry.size != size) {
        return Err(Errno::ESTALE);
    }
    if size > max {
        return Err(Errno::EFBIG);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
    let read = File::from(fd).take(max.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| error.raw_os_error().map_or(Errno::EIO, Errno::from_raw))?;
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    match entry {
        _ if length > max => Err(Errno::EFBIG),
        Some(entry) if length != entry.size => Err(Errno::ESTALE),
        _ => Ok(bytes),
    }
}

struct Walk<'a> {
    package: &'a Package,
    listing: Listing,
    seen: usize,
    total: u64,
    folded: HashMap<String, String>,
}

impl Walk<'_> {
    fn find(&mut self, finding: Finding) {
        // A tree of a million faulty names must not become a million findings.
        if self.listing.findings.len() < 1_000 {
            self.listing.findings.push(finding);
        }
    }

    fn bound(&mut self, path: &str, what: String) {
        if self.listing.complete {
            self.find(Finding::of(&rules::PACKAGE_BIG, &shown(path), what));
        }
        self.listing.complete = false;
    }

    fn folder(&mut self, fd: &OwnedFd, prefix: &str, depth: usize) {
        let names = match names_in(fd, MAX_ENTRIES) {
            Ok(names) => names,
            Err(errno) => {
                let what = format!("the folder cannot be listed: {}", explain(errno));
                self.listing.complete = false;
                return self.find(Finding::of(&rules::UNREADABLE, &shown(prefix), what));
            }
        };
        for name in names {
            self.seen += 1;
            if self.seen > MAX_ENTRIES {
                return self.bound("", format!("more than {MAX_ENTRIES} files and folders"));
            }
            self.entry(fd, prefix, &name, depth);
        }
    }

    fn entry(&mut self, fd: &OwnedFd, prefix: &str, name: &OsStr, depth: usize) {
        let lossy = name.to_string_lossy();
        let path = if prefix.is_empty() { lossy.into_owned() } else { format!("{prefix}/{lossy}") };
        if name.to_str().is_none() || name.as_bytes().contains(&b'\\') || path.chars().any(char::is_control) {
            let what = "the name has a control character, a backslash or bytes that are not UTF-8";
            return self.find(Finding::of(&rules::PATH_FORM, &shown(&path), what));
        }
        if let Some(first) = self.folded.insert(fold(&path), path.clone()) {
            let what = format!("the same name as {} in other letters", shown(&first));
            self.find(Finding::of(&rules::PATH_CASE, &shown(&path), what));
        }
        let stat = match fstatat(fd, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(errno) => {
                let what = format!("cannot be examined: {}", explain(errno));
                return self.find(Finding::of(&rules::UNREADABLE, &shown(&path), what));
            }
        };
        match kind_of(&stat) {
            SFlag::S_IFREG => self.file(path, &stat, false),
            SFlag::S_IFDIR => self.subfolder(fd, &path, name, depth),
            SFlag::S_IFLNK => self.link(path),
            _ => self.find(Finding::of(&rules::SPECIAL_FILE, &shown(&path), "a device, fifo or socket")),
        }
    }

    fn file(&mut self, path: String, stat: &FileStat, link: bool) {
        if stat.st_mode & 0o6000 != 0 {
            let hint = "chmod ug-s";
            self.find(
                Finding::of(&rules::SETUID, &shown(&path), "the setuid or setgid bit is set").hint(hint),
            );
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        self.total = self.total.saturating_add(size);
        if size > MAX_FILE {
            self.bound(&path, format!("{size} bytes; a file has at most 16 MiB"));
        } else if self.total > MAX_TOTAL {
            self.bound("", "more than 64 MiB together".to_owned());
        }
        let protected = protected(&path);
        self.listing.entries.push(Entry { path, size, id: id_of(stat), link, protected });
    }

    fn subfolder(&mut self, parent: &OwnedFd, path: &str, name: &OsStr, depth: usize) {
        if depth + 1 >= MAX_DEPTH {
            return self.bound(path, format!("folders nest deeper than {MAX_DEPTH}"));
        }
        let resolve = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS;
        match openat2(parent, name, OFlag::O_RDONLY | OFlag::O_DIRECTORY, resolve) {
            Ok(fd) => self.folder(&fd, path, depth + 1),
            Err(errno) => {
                self.listing.complete = false;
                let what = format!("the folder cannot be opened: {}", explain(errno));
                self.find(Finding::of(&rules::UNREADABLE, &shown(path), what));
            }
        }
    }

    fn link(&mut self, path: String) {
        let target = self.package.beneath(&path, OFlag::O_PATH, ResolveFlag::empty());
        match target.and_then(|fd| fstat(&fd)) {
            Ok(stat) if kind_of(&stat) == SFlag::S_IFREG => self.file(path, &stat, true),
            Ok(stat) if kind_of(&stat) == SFlag::S_IFDIR => {
                let finding = Finding::of(&rules::LINK_FOLDER, &shown(&path), "a symlink to a folder");
                self.find(finding.hint("put the files there, or drop the link"));
            }
            Ok(_) => self.find(Finding::of(
                &rules::SPECIAL_FILE,
                &shown(&path),
                "a symlink to a device, fifo or socket",
            )),
            Err(Errno::EXDEV) => {
                let finding = Finding::of(
                    &rules::LINK_LEAVES,
                    &shown(&path),
                    "a symlink that is absolute or leads outside",
                );
                self.find(finding.hint("copy the file into the skill"));
            }
            Err(errno) => {
                let what = format!("a symlink that leads nowhere: {}", explain(errno));
                self.find(Finding::of(&rules::LINK_BROKEN, &shown(&path), what));
            }
        }
    }
}

/// The names in a folder but `.` and `..`, sorted; at most `max` and one more, which tells that there are too many.
pub(super) fn names_in(folder: &OwnedFd, max: usize) -> Result<Vec<OsString>, Errno> {
    let mut dir = nix::dir::Dir::from_fd(folder.try_clone().map_err(|_| Errno::EMFILE)?)?;
    let mut names = Vec::new();
    for entry in dir.iter() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
        if names.len() > max {
            break;
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn protected_names_in_all_their_letters() {
        for path in [
            ".skillenv",
            ".SkillEnv",
            ".skillenv.bak",
            "a/.skillenv",
            ".skillenv.d/x",
            ".cubesandbox.dockerfile",
            "x.DOCKERFILE",
            "b/c.dockerfile/d",
            ".ſkillenv",
            ".s\u{212a}illenv",
        ] {
            assert!(protected(path), "{path}");
        }
        for path in ["skillenv", "SKILL.md", "dockerfile", "dockerfile.md", "a.skillenv", "scripts/env.py"] {
            assert!(!protected(path), "{path}");
        }
    }

    #[test]
    fn lists_files_and_tells_what_is_wrong() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("s");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/f"), "x").unwrap();
        fs::write(root.join(".skillenv"), "K=v\n").unwrap();
        symlink("a/b/f", root.join("inside")).unwrap();
        symlink("../../etc/passwd", root.join("outside")).unwrap();
        symlink("/etc/passwd", root.join("absolute")).unwrap();
        symlink("a", root.join("folder")).unwrap();
        symlink("nowhere", root.join("broken")).unwrap();
        symlink(".skillenv", root.join("env")).unwrap();
        fs::hard_link(root.join(".skillenv"), root.join("hard")).unwrap();
        fs::write(root.join("A"), "").unwrap();
        fs::write(root.join("new\nline"), "").unwrap();
        let listing = Package::open(&root).unwrap().list();
        let found: Vec<(&str, &str)> =
            listing.findings.iter().map(|f| (f.rule.name, f.path.as_str())).collect();
        assert_eq!(
            found,
            [
                ("path-case", "a"),
                ("link-leaves", "absolute"),
                ("link-broken", "broken"),
                ("link-folder", "folder"),
                ("path-form", "new\\nline"),
                ("link-leaves", "outside"),
                ("link-protected", "env"),
                ("link-protected", "hard"),
            ]
        );
        let paths: Vec<&str> = listing.entries.iter().map(|e| e.path.as_str()).collect();
        assert_eq!(paths, [".skillenv", "A", "a/b/f", "env", "hard", "inside"]);
        assert!(listing.complete);
    }

    #[test]
    fn a_file_that_was_exchanged_after_listing_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("f"), "one").unwrap();
        let package = Package::open(dir.path()).unwrap();
        let listing = package.list();
        let entry = listing.entry("f").unwrap();
        assert_eq!(package.read_entry(entry).unwrap(), b"one");
        fs::write(dir.path().join("g"), "two").unwrap();
        fs::rename(dir.path().join("g"), dir.path().join("f")).unwrap();
        assert_eq!(package.read_entry(entry).unwrap_err().errno, Errno::ESTALE);
    }

    #[test]
    fn bounds_are_told_once() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("d/".repeat(MAX_DEPTH + 3))).unwrap();
        File::create(dir.path().join("big")).unwrap().set_len(MAX_FILE + 1).unwrap();
        let listing = Package::open(dir.path()).unwrap().list();
        assert_eq!(listing.findings.len(), 1);
        assert_eq!(listing.findings[0].rule.name, "package-big");
        assert!(!listing.complete);
    }
}
