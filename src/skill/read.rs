//! The one guarded way to read a skill's file.

use super::finding::shown;
use super::frontmatter::SKILL_MD;
use super::package::{Package, protected, read_regular};
use nix::errno::Errno;
use nix::fcntl::{OFlag, ResolveFlag};
use nix::sys::stat::fstat;

/// A file that is read has at most this many bytes.
pub const MAX_READ: u64 = 10 << 20;

/// Why a path is not read: one line each. The caller's fault, or an attempt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// `.skillenv*`, `*.dockerfile`, in any letters and under any name.
    #[error("403 access denied: protected file")]
    Protected,
    /// Absolute, and not the location of this skill's SKILL.md.
    #[error("an absolute path that is not the location of this SKILL.md")]
    Absolute,
    /// Empty, `.`, `..`, a doubled or trailing slash, a backslash, a control character.
    #[error("{0}")]
    Form(&'static str),
    /// A symlink, or a chain of them, that leads outside.
    #[error("the path leaves the skill")]
    Leaves,
    /// There is no such file.
    #[error("no such file in the skill")]
    NotFound,
    /// A folder, a device, a fifo, a socket.
    #[error("not a regular file")]
    NotRegular,
    /// Longer than [`MAX_READ`].
    #[error("more than 10 MiB")]
    TooBig,
    /// The folder is over its bounds or cannot be listed, so nobody can say which files are protected.
    #[error("the skill cannot be listed completely: {0}")]
    Unlisted(String),
    /// Whatever else the kernel says.
    #[error("cannot be read: {0}")]
    Failed(String),
}

/// Reads one file. `path` is relative to the skill, or the location of its SKILL.md as `list` prints it.
///
/// The path is resolved once, by the kernel, beneath the skill's open folder; whether it is protected is judged by its words
/// *and* by the identity of the file that was opened.
///
/// # Errors
///
/// [`Refusal`] tells why.
pub fn read(package: &Package, path: &str) -> Result<Vec<u8>, Refusal> {
    let path = if package.location().join(SKILL_MD).to_str() == Some(path) { SKILL_MD } else { path };
    form(path)?;
    if protected(path) {
        return Err(Refusal::Protected);
    }
    let fd =
        package.beneath(path, OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY, ResolveFlag::empty());
    let fd = fd.map_err(refusal)?;
    let stat = fstat(&fd).map_err(refusal)?;
    let listing = package.list();
    if !listing.complete {
        let what = listing.findings.iter().find(|f| matches!(f.rule.name, "package-big" | "unreadable"));
        return Err(Refusal::Unlisted(
            what.map_or_else(String::new, |f| format!("{}: {}", f.place(), f.what)),
        ));
    }
    if listing.protected_ids().contains(&(stat.st_dev, stat.st_ino)) {
        return Err(Refusal::Protected);
    }
    read_regular(fd, MAX_READ, None).map_err(refusal)
}

fn form(path: &str) -> Result<(), Refusal> {
    let what = if path.is_empty() {
        "an empty path"
    } else if path.chars().any(char::is_control) {
        "a control character in the path"
    } else if path.contains('\\') {
        "a backslash in the path"
    } else if path.starts_with('/') {
        return Err(Refusal::Absolute);
    } else if path.ends_with('/') {
        "a slash at the end"
    } else if path.split('/').any(|part| part == "..") {
        "`..` in the path"
    } else if path.split('/').any(|part| part.is_empty() || part == ".") {
        "an empty part or `.` in the path"
    } else if path.len() > 4_095 {
        "a path longer than 4,095 bytes"
    } else {
        return Ok(());
    };
    Err(Refusal::Form(what))
}

fn refusal(errno: Errno) -> Refusal {
    match errno {
        Errno::EXDEV => Refusal::Leaves,
        Errno::ENOENT | Errno::ENOTDIR => Refusal::NotFound,
        // What read_regular says; and what opening a socket or a device without a driver says.
        Errno::EINVAL | Errno::EISDIR | Errno::ENXIO | Errno::ENODEV => Refusal::NotRegular,
        Errno::EFBIG => Refusal::TooBig,
        Errno::ELOOP => Refusal::Failed("too many symlinks".to_owned()),
        other => Refusal::Failed(shown(&std::io::Error::from(other).to_string())),
    }
}
