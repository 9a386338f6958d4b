//! The tree while it is being made: a sibling of its final place, gone unless it is finished.

use super::super::RuntimeError;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A tree in the making.
///
/// It carries a lock, so that a later build can tell the remains of a killed one from one at work.
pub(super) struct Tree {
    // Dropped in this order: the tree itself first, then the directories above it that were made for it.
    directory: tempfile::TempDir,
    above: Above,
    _lock: Flock<File>,
}

/// An error if something is in the place already.
pub(super) fn free(out: &Path) -> Result<(), RuntimeError> {
    match out.symlink_metadata() {
        Ok(_) => Err(RuntimeError::Exists { out: out.to_path_buf() }),
        Err(_) => Ok(()),
    }
}

/// Directories that were made above a tree, outermost first; they go again unless the tree is finished.
struct Above(Vec<PathBuf>);

impl Above {
    fn make(directory: &Path) -> Result<Self, RuntimeError> {
        let missing: Vec<&Path> = directory
            .ancestors()
            .take_while(|path| !path.as_os_str().is_empty() && path.symlink_metadata().is_err())
            .collect();
        let mut made = Self(Vec::new());
        for path in missing.into_iter().rev() {
            fs::create_dir(path).map_err(RuntimeError::io("make directory", path))?;
            made.0.push(path.to_path_buf());
            // Whatever the umask: others must be able to get to the tree, and not to change it.
            mode(path, 0o755)?;
        }
        Ok(made)
    }
}

impl Drop for Above {
    fn drop(&mut self) {
        for path in self.0.iter().rev() {
            // Not empty: somebody else uses it by now.
            drop(fs::remove_dir(path));
        }
    }
}

impl Tree {
    /// Makes the sibling of `out`, and the directories above it; sweeps what killed builds left there.
    pub(super) fn begin(out: &Path) -> Result<Self, RuntimeError> {
        free(out)?;
        let parent = parent(out);
        let above = Above::make(parent)?;
        let prefix = prefix(out);
        sweep(parent, &prefix);
        let directory = tempfile::Builder::new()
            .prefix(&prefix)
            .tempdir_in(parent)
            .map_err(RuntimeError::io("make a directory in", parent))?;
        let handle = File::open(directory.path()).map_err(RuntimeError::io("open", directory.path()))?;
        let lock = Flock::lock(handle, FlockArg::LockExclusiveNonblock)
            .map_err(|(_, errno)| RuntimeError::errno("lock", directory.path())(errno))?;
        mode(directory.path(), 0o755)?;
        Ok(Self { directory, above, _lock: lock })
    }

    /// Where it is now.
    pub(super) fn root(&self) -> &Path {
        self.directory.path()
    }

    /// A path in it.
    pub(super) fn at(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root().join(relative)
    }

    /// Copies a file of the host, links followed; a file that is there already is kept, since the first found wins.
    pub(super) fn copy(&self, from: &Path, to: impl AsRef<Path>) -> Result<(), RuntimeError> {
        let to = self.at(to);
        if to.exists() {
            return Ok(());
        }
        make_parent(&to)?;
        fs::copy(from, &to).map_err(RuntimeError::io("copy", from))?;
        // Modes are set at the end; until then the builder must be able to write, whatever the source's mode was.
        mode(&to, 0o644)
    }

    /// Writes a file.
    pub(super) fn write(&self, to: impl AsRef<Path>, bytes: &[u8]) -> Result<(), RuntimeError> {
        let to = self.at(to);
        make_parent(&to)?;
        fs::write(&to, bytes).map_err(RuntimeError::io("write", &to))
    }

    /// Gives every file and directory its final mode, and refuses what may not be in a tree.
    pub(super) fn settle(&self, executables: &[&str]) -> Result<(), RuntimeError> {
        for path in files_below(self.root())? {
            let relative = path.strip_prefix(self.root()).unwrap_or(&path);
            let forbidden = |what| RuntimeError::Forbidden { path: relative.to_path_buf(), what };
            let meta = path.symlink_metadata().map_err(RuntimeError::io("stat", &path))?;
            if meta.is_symlink() {
                return Err(forbidden("a symbolic link"));
            }
            if meta.is_dir() {
                mode(&path, 0o755)?;
                continue;
            }
            if !meta.is_file() {
                return Err(forbidden("something that is no regular file"));
            }
            if relative.file_name().is_some_and(|name| SHELLS.iter().any(|shell| name == *shell)) {
                return Err(forbidden("a shell"));
            }
            mode(
                &path,
                if executables.iter().any(|name| relative == Path::new(name)) { 0o555 } else { 0o444 },
            )?;
        }
        Ok(())
    }

    /// Puts it in its place, durably; from then on it is whole, or (after a crash) not there.
    pub(super) fn finish(mut self, out: &Path) -> Result<(), RuntimeError> {
        let root = self.root().to_path_buf();
        let handle = File::open(&root).map_err(RuntimeError::io("open", &root))?;
        nix::unistd::syncfs(&handle).map_err(RuntimeError::errno("sync", &root))?;
        match crate::sys::renameat2::no_replace(&root, out) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(RuntimeError::Exists { out: out.to_path_buf() });
            }
            // Some file systems know no flags: a plain rename fails on any directory that is not empty.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                fs::rename(&root, out).map_err(RuntimeError::io("rename to", out))?;
            }
            Err(error) => return Err(RuntimeError::io("rename to", out)(error)),
        }
        // It has left the place that would be removed.
        drop(self.directory.keep());
        self.above.0.clear();
        let parent = parent(out);
        File::open(parent)
            .and_then(|directory| directory.sync_all())
            .map_err(RuntimeError::io("sync", parent))
    }
}

/// Names that would give a script a command interpreter other than Python.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "csh"];

/// The directory that holds a path: `.` for a bare name.
pub(super) fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn make_parent(to: &Path) -> Result<(), RuntimeError> {
    let parent = parent(to);
    fs::create_dir_all(parent).map_err(RuntimeError::io("make directory", parent))
}

fn prefix(out: &Path) -> String {
    format!(".{}.build-", out.file_name().unwrap_or_default().to_string_lossy())
}

/// Removes the siblings that nobody holds a lock on.
fn sweep(parent: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)) {
        let Ok(handle) = File::open(entry.path()) else { continue };
        if let Ok(held) = Flock::lock(handle, FlockArg::LockExclusiveNonblock) {
            // What cannot be removed (another user's) is not ours to remove.
            drop(fs::remove_dir_all(entry.path()));
            drop(held);
        }
    }
}

fn mode(path: &Path, bits: u32) -> Result<(), RuntimeError> {
    fs::set_permissions(path, Permissions::from_mode(bits)).map_err(RuntimeError::io("set the mode of", path))
}

/// Everything below a directory, links not followed, sorted: parents before their children.
pub(super) fn files_below(root: &Path) -> Result<Vec<PathBuf>, RuntimeError> {
    let mut found = Vec::new();
    let mut queue = vec![root.to_path_buf()];
    while let Some(directory) = queue.pop() {
        let entries = fs::read_dir(&directory).map_err(RuntimeError::io("list", &directory))?;
        for entry in entries {
            let entry = entry.map_err(RuntimeError::io("list", &directory))?;
            let kind = entry.file_type().map_err(RuntimeError::io("stat", entry.path()))?;
            if kind.is_dir() {
                queue.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::Tree;
    use crate::runtime::RuntimeError;
    use std::os::unix::fs::symlink;

    fn scratch() -> tempfile::TempDir {
        tempfile::tempdir().expect("a directory")
    }

    #[test]
    fn an_abandoned_tree_leaves_nothing_and_a_finished_one_is_whole() {
        let base = scratch();
        let out = base.path().join("rt");
        let tree = Tree::begin(&out).expect("begin");
        tree.write("usr/a", b"x").expect("write");
        assert_eq!(std::fs::read_dir(base.path()).expect("list").count(), 1);
        drop(tree);
        assert_eq!(std::fs::read_dir(base.path()).expect("list").count(), 0);

        let tree = Tree::begin(&out).expect("begin");
        tree.write("usr/a", b"x").expect("write");
        tree.settle(&[]).expect("settle");
        tree.finish(&out).expect("finish");
        assert_eq!(std::fs::read(out.join("usr/a")).expect("read"), b"x");
        assert_eq!(std::fs::read_dir(base.path()).expect("list").count(), 1);
    }

    #[test]
    fn the_remains_of_a_killed_build_are_swept_and_one_at_work_is_spared() {
        let base = scratch();
        let out = base.path().join("rt");
        std::fs::create_dir_all(base.path().join(".rt.build-dead/usr")).expect("remains");
        let at_work = Tree::begin(&out).expect("first");
        assert!(!base.path().join(".rt.build-dead").exists());
        let second = Tree::begin(&out).expect("second");
        assert!(at_work.root().exists());
        second.finish(&out).expect("finish");
        assert!(matches!(at_work.finish(&out), Err(RuntimeError::Exists { .. })));
        assert_eq!(std::fs::read_dir(base.path()).expect("list").count(), 1);
    }

    #[test]
    fn a_link_and_a_shell_are_refused() {
        let base = scratch();
        let tree = Tree::begin(&base.path().join("rt")).expect("begin");
        symlink("/etc", tree.at("l")).expect("link");
        assert!(matches!(tree.settle(&[]), Err(RuntimeError::Forbidden { .. })));
        std::fs::remove_file(tree.at("l")).expect("remove");
        tree.settle(&[]).expect("control: nothing forbidden");
        tree.write("usr/bin/sh", b"").expect("write");
        assert!(matches!(tree.settle(&[]), Err(RuntimeError::Forbidden { .. })));
    }
}
