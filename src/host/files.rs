//! The facts that stand in files. A file that cannot be read leaves its fact unknown; none is an error here.

use super::{Cgroup, Container, Host, IdRange, Place, Proc};
use std::fs;
use std::path::{Path, PathBuf};

/// Completes a host with what the files below `root` (`/`, or a made-up tree) say.
pub(super) fn read(quick: Host, root: &Path, cgroup: Option<&Path>) -> Host {
    let text = |path: &str| fs::read_to_string(root.join(path)).ok();
    let number = |path: &str| text(path).and_then(|text| text.trim().parse().ok());
    let mounts = text("proc/self/mountinfo").map(|text| mounts(&text)).unwrap_or_default();
    let yama: Option<u64> = number("proc/sys/kernel/yama/ptrace_scope");
    Host {
        lsm: text("sys/kernel/security/lsm").map(|text| text.trim().split(',').map(str::to_owned).collect()),
        max_user_namespaces: number("proc/sys/user/max_user_namespaces"),
        unprivileged_userns_clone: number("proc/sys/kernel/unprivileged_userns_clone"),
        apparmor_restrict_unprivileged_userns: number(
            "proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        ),
        lsm_label: text("proc/self/attr/current")
            .map(|text| text.trim_matches(['\0', '\n', ' ']).to_owned())
            .filter(|label| !label.is_empty()),
        yama_ptrace_scope: yama,
        uid_map: text("proc/self/uid_map").map(|text| id_map(&text)).unwrap_or_default(),
        gid_map: text("proc/self/gid_map").map(|text| id_map(&text)).unwrap_or_default(),
        proc: proc(&mounts, root.join("proc/self/status").exists()),
        cgroup: Cgroup::read(&mounts, text("proc/self/cgroup").as_deref(), cgroup),
        container: container(root, &mounts),
        exe: fs::read_link(root.join("proc/self/exe")).ok().map(undeleted),
        ..quick
    }
}

/// One line of `mountinfo`, as far as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) point: PathBuf,
    pub(super) kind: String,
    pub(super) read_only: bool,
}

/// Reads `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`): the fields after the separator ` - ` begin with the type.
pub(super) fn mounts(text: &str) -> Vec<Mount> {
    let line = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(4);
        let (point, options) = (fields.next()?, fields.next()?);
        Some(Mount {
            point: PathBuf::from(unescaped(point)),
            kind: after.split(' ').next()?.to_owned(),
            read_only: options.split(',').any(|option| option == "ro"),
        })
    };
    text.lines().filter_map(line).collect()
}

/// `mountinfo` writes space, tab, newline and backslash as three octal digits.
fn unescaped(field: &str) -> String {
    [(r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", r"\")]
        .iter()
        .fold(field.to_owned(), |text, (code, character)| text.replace(code, character))
}

fn id_map(text: &str) -> Vec<IdRange> {
    let line = |line: &str| {
        let mut numbers = line.split_whitespace().map(|number| number.parse().ok());
        Some(IdRange { inside: numbers.next()??, outside: numbers.next()??, count: numbers.next()?? })
    };
    text.lines().filter_map(line).collect()
}

fn proc(mounts: &[Mount], status_is_there: bool) -> Proc {
    let below = |mount: &&Mount| mount.point.starts_with("/proc") && mount.point != Path::new("/proc");
    // Distributions mount binfmt_misc there; it is a mount on an empty directory, which hides nothing.
    let masks = |mount: &&Mount| !matches!(mount.kind.as_str(), "binfmt_misc" | "autofs");
    let governs_sys =
        |mount: &&Mount| ["/proc/sys", "/proc"].iter().any(|path| mount.point == Path::new(path));
    let deepest = mounts.iter().filter(governs_sys).max_by_key(|mount| mount.point.as_os_str().len());
    Proc {
        mounted: status_is_there,
        sys_read_only: deepest.is_some_and(|mount| mount.read_only),
        masked: mounts.iter().filter(below).filter(masks).map(|mount| mount.point.clone()).collect(),
    }
}

/// Looks for what the engines leave behind.
fn container(root: &Path, mounts: &[Mount]) -> Option<Container> {
    let found = |engine, evidence: String| Some(Container { engine, evidence });
    if root.join("var/run/secrets/kubernetes.io").exists() {
        return found(Place::Kubernetes, "/var/run/secrets/kubernetes.io is there".to_owned());
    }
    for (file, engine) in [(".dockerenv", Place::Docker), ("run/.containerenv", Place::Podman)] {
        if root.join(file).exists() {
            return found(engine, format!("/{file} is there"));
        }
    }
    let overlay = mounts.iter().any(|mount| mount.point == Path::new("/") && mount.kind == "overlay");
    let masked_kcore = mounts.iter().any(|mount| mount.point == Path::new("/proc/kcore"));
    if overlay && masked_kcore {
        return found(Place::Docker, "/ is an overlay and /proc/kcore is masked".to_owned());
    }
    None
}

/// The kernel appends this when the file was replaced under the running program.
fn undeleted(path: PathBuf) -> PathBuf {
    match path.to_str().and_then(|text| text.strip_suffix(" (deleted)")) {
        Some(text) => PathBuf::from(text),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::{Mount, container, id_map, mounts, proc, read};
    use crate::host::{Host, IdRange, Place};
    use std::fs;
    use std::path::{Path, PathBuf};

    const DOCKER: &str = "\
1 2 0:50 / / rw,relatime - overlay overlay rw\n\
3 1 0:51 / /proc rw,nosuid - proc proc rw\n\
4 3 0:51 /sys /proc/sys ro,nosuid - proc proc rw\n\
5 3 0:52 / /proc/kcore rw,nosuid - tmpfs tmpfs rw\n\
6 1 0:53 / /mnt/a\\040b rw - ext4 /dev/sda1 rw\n";

    #[test]
    fn mountinfo_of_a_container_says_what_is_masked() {
        let mounts = mounts(DOCKER);
        assert_eq!(mounts.len(), 5);
        assert_eq!(mounts[4].point, Path::new("/mnt/a b"));
        let proc = proc(&mounts, true);
        assert!(proc.mounted && proc.sys_read_only);
        assert_eq!(proc.masked, [PathBuf::from("/proc/sys"), PathBuf::from("/proc/kcore")]);
        assert_eq!(container(Path::new("/nowhere"), &mounts).map(|c| c.engine), Some(Place::Docker));
    }

    #[test]
    fn a_plain_proc_is_neither_masked_nor_read_only() {
        let plain = "3 1 0:51 / /proc rw - proc proc rw\n\
                     4 3 0:5 / /proc/sys/fs/binfmt_misc rw - binfmt_misc none rw\n";
        let proc = proc(&mounts(plain), true);
        assert!(!proc.sys_read_only && proc.masked.is_empty());
        let torn = "3 1 0:51 / /proc\nnonsense - \n";
        assert_eq!(mounts(torn), Vec::<Mount>::new());
    }

    #[test]
    fn a_map_line_that_is_no_map_line_is_left_out() {
        let map = id_map("         0       1000          1\n bad\n 1 100000 65536\n 5 -1 2\n");
        let range = |inside, outside, count| IdRange { inside, outside, count };
        assert_eq!(map, [range(0, 1000, 1), range(1, 100_000, 65_536)]);
    }

    #[test]
    fn a_made_up_tree_gives_its_facts_and_an_empty_one_none() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let empty = read(Host::capable(), folder.path(), None);
        assert_eq!((empty.max_user_namespaces, empty.lsm, empty.exe), (None, None, None));
        assert!(!empty.proc.mounted);

        put("proc/sys/user/max_user_namespaces", "0\n");
        put("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
        put("proc/self/attr/current", "docker-default (enforce)\n\0");
        put("sys/kernel/security/lsm", "capability,yama,apparmor");
        put("run/.containerenv", "");
        let host = read(Host::capable(), folder.path(), None);
        assert_eq!(host.max_user_namespaces, Some(0));
        assert_eq!(host.apparmor_restrict_unprivileged_userns, Some(1));
        assert_eq!(host.lsm_label.as_deref(), Some("docker-default (enforce)"));
        assert_eq!(host.lsm.unwrap(), ["capability", "yama", "apparmor"]);
        assert_eq!(host.container.unwrap().engine, Place::Podman);
    }
}
