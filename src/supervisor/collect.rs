//! Artifacts: regular files below `/workdir/out`, taken through a descriptor after everything in the jail is dead.
//!
//! Nothing is executed, no symbolic link is followed on either side, no file of `--out` is replaced, and whatever is
//! not taken is in the result with its reason.

use crate::digest::hex;
use crate::policy::Limits;
use crate::report::Artifact;
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::stat::{FileStat, Mode, fstat, mkdirat};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Refusals that are listed one by one; the rest is counted.
const MAX_REFUSALS: usize = 64;
const BENEATH: ResolveFlag = ResolveFlag::RESOLVE_BENEATH
    .union(ResolveFlag::RESOLVE_NO_SYMLINKS)
    .union(ResolveFlag::RESOLVE_NO_XDEV)
    .union(ResolveFlag::RESOLVE_NO_MAGICLINKS);

/// Opens `--out`, making the directory (not its parents) where it is not there.
pub fn open_destination(path: &Path) -> io::Result<OwnedFd> {
    match std::fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    Ok(nix::fcntl::open(path, flags, Mode::empty())?)
}

/// A name that is safe in shells, file managers and version control: what is not harmless is `%XX`.
///
/// Letters and digits of any script, `_`, `+`, `=`, `,`, `@`, a space inside, and `.` and `-` but not as the first
/// character, stay. `%` itself is escaped, so two names never become one.
pub fn escaped(name: &[u8]) -> String {
    let mut out = String::with_capacity(name.len());
    let escape = |out: &mut String, bytes: &[u8]| {
        for byte in bytes {
            out.push('%');
            out.push_str(&hex(&[*byte]).to_ascii_uppercase());
        }
    };
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            let inner = !out.is_empty();
            let plain = c.is_alphanumeric()
                || matches!(c, '_' | '+' | '=' | ',' | '@')
                || (inner && matches!(c, '.' | '-' | ' '));
            if plain {
                out.push(c);
            } else {
                escape(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        escape(&mut out, chunk.invalid());
    }
    // A trailing space or dot is lost on some systems.
    if out.ends_with(['.', ' ']) {
        let last = out.pop().unwrap_or('.');
        escape(&mut out, last.encode_utf8(&mut [0; 4]).as_bytes());
    }
    out
}

struct Collector<'a> {
    limits: &'a Limits,
    artifacts: Vec<Artifact>,
    taken: u64,
    taken_bytes: u64,
    refused: usize,
}

/// Copies what may be copied from `workdir`'s `out` to `destination`, and lists everything.
pub fn collect(workdir: BorrowedFd<'_>, destination: BorrowedFd<'_>, limits: &Limits) -> Vec<Artifact> {
    let mut collector = Collector { limits, artifacts: Vec::new(), taken: 0, taken_bytes: 0, refused: 0 };
    match beneath(workdir, b"out", OFlag::O_RDONLY | OFlag::O_DIRECTORY) {
        Ok(out) => collector.directory(out.as_fd(), destination, "", "", 0),
        Err(errno) => collector.unread("", "out cannot be opened", errno),
    }
    if collector.refused > MAX_REFUSALS {
        let more = collector.refused - MAX_REFUSALS;
        collector.artifacts.push(refusal("", 0, format!("{more} more were refused")));
    }
    collector.artifacts
}

fn refusal(path: &str, bytes: u64, why: String) -> Artifact {
    Artifact {
        path: path.to_owned(),
        saved_as: None,
        bytes,
        sha256: None,
        refused: Some(why),
        unsaved: false,
    }
}

fn beneath(dir: BorrowedFd<'_>, name: &[u8], flags: OFlag) -> nix::Result<OwnedFd> {
    let how = OpenHow::new()
        .flags(flags | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC)
        .resolve(BENEATH);
    openat2(dir, Path::new(std::ffi::OsStr::from_bytes(name)), how)
}

/// What a file is when it is nothing that is collected.
fn other_kind(stat: &FileStat) -> Option<&'static str> {
    match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG if stat.st_nlink != 1 => Some("it has more than one name (hard link)"),
        libc::S_IFREG | libc::S_IFDIR => None,
        libc::S_IFLNK => Some("symbolic link"),
        libc::S_IFIFO => Some("fifo"),
        libc::S_IFSOCK => Some("socket"),
        libc::S_IFCHR | libc::S_IFBLK => Some("device"),
        _ => Some("not a regular file"),
    }
}

impl Collector<'_> {
    fn refuse(&mut self, path: &str, bytes: u64, why: &str) {
        self.refused += 1;
        if self.refused <= MAX_REFUSALS {
            self.artifacts.push(refusal(path, bytes, why.to_owned()));
        }
    }

    /// What the policy lets out and the caller's folder does not take.
    fn unsaved(&mut self, path: &str, bytes: u64, why: &str) {
        let listed = self.artifacts.len();
        self.refuse(path, bytes, &format!("cannot be saved: {why}"));
        for artifact in self.artifacts.iter_mut().skip(listed) {
            artifact.unsaved = true;
        }
    }

    /// What could not be read: by the script's doing it is refused, else it is lost, which the caller must know.
    fn unread(&mut self, path: &str, what: &str, errno: Errno) {
        let why = format!("{what}: {errno}");
        match errno {
            Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP | Errno::EXDEV | Errno::EACCES => {
                self.refuse(path, 0, &why);
            }
            _ => self.unsaved(path, 0, &why),
        }
    }

    fn directory(&mut self, dir: BorrowedFd<'_>, to: BorrowedFd<'_>, path: &str, saved: &str, depth: u64) {
        let names = match names(dir) {
            Ok(names) => names,
            Err(errno) => return self.unread(path, "cannot be listed", errno),
        };
        for name in names {
            let shown = join(path, &String::from_utf8_lossy(&name));
            let safe = escaped(&name);
            let saved = join(saved, &safe);
            let name_path = Path::new(std::ffi::OsStr::from_bytes(&name));
            let stat = match nix::sys::stat::fstatat(dir, name_path, nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW)
            {
                Ok(stat) => stat,
                Err(errno) => {
                    self.unread(&shown, "cannot be looked at", errno);
                    continue;
                }
            };
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            if let Some(kind) = other_kind(&stat) {
                self.refuse(&shown, size, kind);
            } else if stat.st_mode & libc::S_IFMT == libc::S_IFDIR {
                self.subdirectory(dir, &name, to, (&shown, &saved, &safe), depth);
            } else {
                self.file(dir, &name, to, (&shown, &saved, &safe));
            }
        }
    }

    fn subdirectory(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &[u8],
        to: BorrowedFd<'_>,
        (shown, saved, safe): (&str, &str, &str),
        depth: u64,
    ) {
        if depth >= self.limits.artifact_depth.value {
            let most = self.limits.artifact_depth.value;
            return self.refuse(shown, 0, &format!("deeper than {most} directories"));
        }
        let from = match beneath(dir, name, OFlag::O_RDONLY | OFlag::O_DIRECTORY) {
            Ok(from) => from,
            Err(errno) => return self.unread(shown, "cannot be opened", errno),
        };
        let made = match mkdirat(to, safe, Mode::from_bits_truncate(0o755)) {
            Ok(()) | Err(nix::Error::EEXIST) => {
                beneath(to, safe.as_bytes(), OFlag::O_RDONLY | OFlag::O_DIRECTORY)
            }
            Err(errno) => Err(errno),
        };
        match made {
            Ok(made) => self.directory(from.as_fd(), made.as_fd(), shown, saved, depth + 1),
            Err(errno) => self.unsaved(shown, 0, &format!("its directory: {errno}")),
        }
    }

    fn file(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &[u8],
        to: BorrowedFd<'_>,
        (shown, saved, safe): (&str, &str, &str),
    ) {
        let file = match beneath(dir, name, OFlag::O_RDONLY) {
            Ok(file) => file,
            Err(errno) => return self.unread(shown, "cannot be opened", errno),
        };
        // What was opened is judged, not what was looked at.
        let stat = match fstat(&file) {
            Ok(stat) => stat,
            Err(errno) => return self.unread(shown, "cannot be looked at", errno),
        };
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        if let Some(kind) = other_kind(&stat) {
            return self.refuse(shown, size, kind);
        }
        let limits = self.limits;
        if self.taken >= limits.artifacts.value {
            return self.refuse(shown, size, &format!("more than {} files", limits.artifacts.value));
        }
        if size > limits.artifact_bytes.value {
            return self.refuse(shown, size, &format!("larger than {} bytes", limits.artifact_bytes.value));
        }
        if self.taken_bytes + size > limits.artifacts_total_bytes.value {
            let most = limits.artifacts_total_bytes.value;
            return self.refuse(shown, size, &format!("all together larger than {most} bytes"));
        }
        match copy(file, size, to, safe) {
            Ok(digest) => {
                self.taken += 1;
                self.taken_bytes += size;
                self.artifacts.push(Artifact {
                    path: shown.to_owned(),
                    saved_as: Some(saved.to_owned()),
                    bytes: size,
                    sha256: Some(digest),
                    refused: None,
                    unsaved: false,
                });
            }
            Err(error) => self.unsaved(shown, size, &error.to_string()),
        }
    }
}

fn join(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") }
}

fn names(dir: BorrowedFd<'_>) -> nix::Result<Vec<Vec<u8>>> {
    let mut dir = Dir::from_fd(dir.try_clone_to_owned().map_err(|_| nix::Error::EMFILE)?)?;
    let mut names = Vec::new();
    for entry in dir.iter() {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Copies at most `size` bytes into a file that must not exist yet; a partial copy is removed.
fn copy(from: OwnedFd, size: u64, to: BorrowedFd<'_>, name: &str) -> io::Result<String> {
    let how = OpenHow::new()
        .flags(OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC)
        .mode(Mode::from_bits_truncate(0o644))
        .resolve(BENEATH);
    let mut target = File::from(openat2(to, name, how)?);
    let mut source = File::from(from).take(size);
    let mut hash = Sha256::new();
    let mut chunk = vec![0u8; 64 << 10];
    let mut pump = || -> io::Result<()> {
        loop {
            let count = match source.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            let Some(bytes) = chunk.get(..count).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
            hash.update(bytes);
            target.write_all(bytes)?;
        }
    };
    if let Err(error) = pump() {
        // The first error is the one to tell.
        let _ = nix::unistd::unlinkat(to, name, nix::unistd::UnlinkatFlags::NoRemoveDir);
        return Err(error);
    }
    Ok(hex(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use std::os::unix::fs::symlink;

    fn collected(fill: impl Fn(&Path)) -> (tempfile::TempDir, Vec<Artifact>) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("work/out")).unwrap();
        fill(&dir.path().join("work/out"));
        let work = File::open(dir.path().join("work")).unwrap();
        let to = open_destination(&dir.path().join("to")).unwrap();
        let list = collect(work.as_fd(), to.as_fd(), Policy::load("default").unwrap().limits());
        (dir, list)
    }

    fn reason(list: &[Artifact], path: &str) -> String {
        list.iter().find(|a| a.path == path).unwrap().refused.clone().unwrap()
    }

    #[test]
    fn regular_files_are_copied_with_their_digest() {
        let (dir, list) = collected(|out| {
            std::fs::create_dir(out.join("plots")).unwrap();
            std::fs::write(out.join("plots/a.png"), b"png").unwrap();
        });
        assert_eq!(std::fs::read(dir.path().join("to/plots/a.png")).unwrap(), b"png");
        assert_eq!(list.len(), 1);
        assert_eq!(list[0].saved_as.as_deref(), Some("plots/a.png"));
        assert_eq!(list[0].sha256.as_deref(), Some(crate::digest::sha256(b"png").as_str()));
    }

    #[test]
    fn links_and_special_files_are_refused_with_their_kind() {
        let (dir, list) = collected(|out| {
            symlink("/etc/passwd", out.join("link")).unwrap();
            symlink("/etc", out.join("dirlink")).unwrap();
            std::fs::write(out.join("one"), b"x").unwrap();
            std::fs::hard_link(out.join("one"), out.join("two")).unwrap();
            nix::unistd::mkfifo(&out.join("fifo"), Mode::from_bits_truncate(0o600)).unwrap();
            std::os::unix::net::UnixListener::bind(out.join("sock")).unwrap();
        });
        assert_eq!(reason(&list, "link"), "symbolic link");
        assert_eq!(reason(&list, "dirlink"), "symbolic link");
        assert_eq!(reason(&list, "fifo"), "fifo");
        assert_eq!(reason(&list, "sock"), "socket");
        assert!(reason(&list, "one").contains("hard link"));
        assert_eq!(std::fs::read_dir(dir.path().join("to")).unwrap().count(), 0);
    }

    #[test]
    fn sparse_files_cost_their_apparent_size() {
        let (_dir, list) = collected(|out| {
            File::create(out.join("sparse")).unwrap().set_len(1 << 40).unwrap();
        });
        assert!(reason(&list, "sparse").contains("larger than"));
    }

    #[test]
    fn count_depth_and_total_are_bounded() {
        let (_dir, list) = collected(|out| {
            for n in 0..40 {
                std::fs::write(out.join(format!("f{n:02}")), b"x").unwrap();
            }
            std::fs::create_dir_all(out.join("a/b/c/d/e")).unwrap();
        });
        assert_eq!(list.iter().filter(|a| a.saved_as.is_some()).count(), 32);
        assert!(reason(&list, "f39").contains("more than 32 files"));
        assert!(reason(&list, "a/b/c/d/e").contains("deeper than 4"));
        let (_dir, list) = collected(|out| {
            for n in 0..3 {
                File::create(out.join(format!("f{n}"))).unwrap().set_len(12 << 20).unwrap();
            }
        });
        assert!(reason(&list, "f2").contains("all together"));
    }

    #[test]
    fn nothing_in_the_destination_is_replaced_or_followed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("work/out/sub")).unwrap();
        std::fs::write(dir.path().join("work/out/sub/f"), b"new").unwrap();
        std::fs::write(dir.path().join("work/out/mine"), b"new").unwrap();
        std::fs::create_dir_all(dir.path().join("elsewhere")).unwrap();
        std::fs::create_dir_all(dir.path().join("to")).unwrap();
        symlink(dir.path().join("elsewhere"), dir.path().join("to/sub")).unwrap();
        std::fs::write(dir.path().join("to/mine"), b"old").unwrap();
        let work = File::open(dir.path().join("work")).unwrap();
        let to = open_destination(&dir.path().join("to")).unwrap();
        let list = collect(work.as_fd(), to.as_fd(), Policy::load("default").unwrap().limits());
        assert!(list.iter().all(|a| a.refused.is_some()), "{list:?}");
        assert_eq!(std::fs::read(dir.path().join("to/mine")).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(dir.path().join("elsewhere")).unwrap().count(), 0);
    }

    #[test]
    fn names_are_escaped_and_stay_distinct() {
        for (name, safe) in [
            (&b"plot 1.png"[..], "plot 1.png"),
            (b".git", "%2Egit"),
            (b"-rf", "%2Drf"),
            (b"a;b", "a%3Bb"),
            (b"a\nb", "a%0Ab"),
            (b"\xff", "%FF"),
            (b"50%", "50%25"),
            (b"..", "%2E%2E"),
            (b"x.", "x%2E"),
            ("größe.csv".as_bytes(), "größe.csv"),
            ("\u{202e}gpj".as_bytes(), "%E2%80%AEgpj"),
        ] {
            assert_eq!(escaped(name), safe);
        }
    }
}
