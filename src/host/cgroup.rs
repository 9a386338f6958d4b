//! Control groups as far as a run can use them: version 2, below a directory that was handed over.

use super::files::Mount;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Control groups of this host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cgroup {
    /// Where the version 2 hierarchy is mounted.
    pub v2_mount: Option<PathBuf>,
    /// Controllers that version 1 hierarchies hold, as their mounts name them; version 2 cannot have these.
    pub v1_mounts: Vec<PathBuf>,
    /// This process's own group in the version 2 hierarchy.
    pub own: Option<String>,
    /// The directory that was handed over.
    pub dir: Option<CgroupDir>,
}

/// A directory that was handed over as a delegated group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CgroupDir {
    /// The directory.
    pub path: PathBuf,
    /// It lies on a mounted version 2 hierarchy.
    pub is_v2: bool,
    /// That mount is read-only.
    pub read_only: bool,
    /// `cgroup.controllers`: what may be enabled for its children.
    pub controllers: Vec<String>,
    /// `cgroup.subtree_control`: what is enabled for its children.
    pub subtree_control: Vec<String>,
}

impl Cgroup {
    pub(super) fn read(mounts: &[Mount], own: Option<&str>, dir: Option<&Path>) -> Self {
        let of_kind = |kind: &'static str| {
            let points = mounts.iter().filter(move |mount| mount.kind == kind);
            points.map(|mount| mount.point.clone())
        };
        Self {
            v2_mount: of_kind("cgroup2").next(),
            v1_mounts: of_kind("cgroup").collect(),
            own: own
                .and_then(|text| text.lines().find_map(|line| line.strip_prefix("0::")))
                .map(str::to_owned),
            dir: dir.map(|dir| CgroupDir::read(mounts, dir)),
        }
    }
}

impl CgroupDir {
    fn read(mounts: &[Mount], dir: &Path) -> Self {
        let path = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
        let holding = mounts.iter().filter(|mount| path.starts_with(&mount.point));
        // The last of the longest: a mount hides what was mounted at the same place before it.
        let mount = holding.max_by_key(|mount| mount.point.as_os_str().len());
        let words = |file: &str| {
            let text = fs::read_to_string(path.join(file)).unwrap_or_default();
            text.split_whitespace().map(str::to_owned).collect()
        };
        Self {
            is_v2: mount.is_some_and(|mount| mount.kind == "cgroup2"),
            read_only: mount.is_some_and(|mount| mount.read_only),
            controllers: words("cgroup.controllers"),
            subtree_control: words("cgroup.subtree_control"),
            path,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cgroup;
    use crate::host::files::mounts;
    use std::path::Path;

    #[test]
    fn a_directory_is_judged_by_the_mount_that_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        std::fs::write(path.join("cgroup.controllers"), "cpu memory pids\n").unwrap();
        let here = path.display();
        let text = format!("1 0 0:1 / / rw - ext4 a rw\n2 1 0:2 / {here} ro - cgroup2 cgroup2 rw\n");
        let found = Cgroup::read(&mounts(&text), Some("3:memory:/a\n0::/user.slice\n"), Some(&path));
        assert_eq!(found.own.as_deref(), Some("/user.slice"));
        assert_eq!(found.v2_mount.as_deref(), Some(path.as_path()));
        let dir = found.dir.unwrap();
        assert!(dir.is_v2 && dir.read_only);
        assert_eq!(dir.controllers, ["cpu", "memory", "pids"]);
        assert!(dir.subtree_control.is_empty());

        let outside = Cgroup::read(&mounts(&text), None, Some(Path::new("/etc"))).dir.unwrap();
        assert!(!outside.is_v2);
    }
}
