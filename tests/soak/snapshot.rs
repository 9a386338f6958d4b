//! What the kernel shows of a machine, to be compared with itself.

use crate::support;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What of other programs comes and goes is waited out this long; what a killed run leaves is gone in far less.
const PATIENCE: Duration = Duration::from_secs(60);

/// Names by kind of thing.
pub(crate) struct Snapshot(BTreeMap<&'static str, BTreeSet<String>>);

impl Snapshot {
    pub(crate) fn take() -> Self {
        Self(BTreeMap::from([
            ("processes below this one", descendants()),
            ("mounts", lines("/proc/self/mountinfo")),
            ("descriptors", entries("/proc/self/fd")),
            ("files", files()),
            ("namespaces", namespaces()),
            ("cgroups", below(Path::new("/sys/fs/cgroup"), &[], true)),
            ("abstract sockets", abstract_sockets()),
        ]))
    }

    fn differences(&self, now: &Self) -> Vec<String> {
        let mut found = Vec::new();
        for (kind, before) in &self.0 {
            found.extend(now.0[kind].difference(before).map(|name| format!("left behind, {kind}: {name}")));
        }
        found
    }

    /// The control: what a run leaves for as long as it lasts is seen, so an empty difference says something.
    pub(crate) fn assert_something_is_there(&self) {
        let differences = self.differences(&Self::take());
        for kind in ["processes below this one", "namespaces", "descriptors", "files"] {
            let seen = differences.iter().any(|line| line.contains(&format!(", {kind}: ")));
            assert!(seen, "{kind}: {differences:#?}");
        }
    }

    /// Panics unless all is as it was, also what was there before and is our own.
    pub(crate) fn assert_nothing_is_left(&self, after: &str) {
        let begun = Instant::now();
        loop {
            reap_orphans();
            let differences = self.differences(&Self::take());
            if differences.is_empty() {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "after {after}: {differences:#?}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// Orphans of killed supervisors are this process's children by now.
fn reap_orphans() {
    while !matches!(
        waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)),
        Ok(WaitStatus::StillAlive) | Err(_)
    ) {}
}

fn lines(path: &str) -> BTreeSet<String> {
    fs::read_to_string(path).expect("the kernel tells").lines().map(str::to_owned).collect()
}

/// The names in a directory, without the descriptor that lists it.
fn entries(path: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(path).expect("a directory").map(|entry| entry.expect("an entry"));
    let shown = entries.filter_map(|entry| Some((entry.file_name(), fs::read_link(entry.path()).ok()?)));
    shown
        .map(|(name, target)| format!("{} -> {}", name.display(), target.display()))
        .filter(|line| !line.contains("/proc/"))
        .collect()
}

fn pids() -> Vec<(i32, PathBuf)> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path()))).collect()
}

/// Every process below this one, zombies too, wherever in the tree.
fn descendants() -> BTreeSet<String> {
    let parents: BTreeMap<i32, i32> =
        pids().iter().filter_map(|(pid, path)| Some((*pid, parent(path)?))).collect();
    let own = std::process::id().cast_signed();
    let is_below = |mut pid: i32| {
        while let Some(parent) = parents.get(&pid) {
            if *parent == own {
                return true;
            }
            pid = *parent;
        }
        false
    };
    let below = parents.keys().filter(|pid| is_below(**pid));
    below
        .map(|pid| format!("{pid} {}", fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default()))
        .collect()
}

/// The fourth field; the second may hold blanks and brackets.
fn parent(process: &Path) -> Option<i32> {
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// The paths below a directory that others cannot fill, or the folders alone.
fn below(top: &Path, skip: &[PathBuf], folders_only: bool) -> BTreeSet<String> {
    let (mut found, mut queue) = (BTreeSet::new(), vec![top.to_owned()]);
    while let Some(folder) = queue.pop() {
        // It may be gone by now, or another user's own.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, is_folder) = (entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir()));
            if skip.contains(&path) {
                continue;
            }
            if is_folder || !folders_only {
                found.insert(path.display().to_string());
            }
            if is_folder {
                queue.push(path);
            }
        }
    }
    found
}

/// Where temporary files go, and the checkout without what a build or a commit writes.
fn files() -> BTreeSet<String> {
    let skip = ["target", ".git", ".run"].map(|name| support::checkout().join(name));
    let mut found = below(support::checkout(), &skip, false);
    for place in ["/tmp", "/var/tmp", "/dev/shm"] {
        found.extend(below(Path::new(place), &skip, false));
    }
    found.extend(below(&std::env::temp_dir(), &skip, false));
    // A runtime notes nothing anew at a run.
    found.extend(below(Path::new(env!("CARGO_TARGET_TMPDIR")), &skip, false));
    found
}

fn namespaces() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, process) in pids() {
        for entry in fs::read_dir(process.join("ns")).into_iter().flatten().flatten() {
            found.extend(fs::read_link(entry.path()).map(|link| link.display().to_string()));
        }
    }
    found
}

fn abstract_sockets() -> BTreeSet<String> {
    let text = fs::read("/proc/net/unix").expect("the kernel tells");
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().filter_map(|line| line.split_once("@skilljail")).map(|(_, name)| name.to_owned()).collect()
}
