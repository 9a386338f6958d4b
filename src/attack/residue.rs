//! What is left on the host after everything: nothing may be.

use std::collections::BTreeSet;
use std::fs;

/// What there was before.
#[derive(Debug)]
pub struct Snapshot {
    mounts: BTreeSet<String>,
    descriptors: usize,
    segments: BTreeSet<String>,
}

impl Snapshot {
    /// Looks.
    pub fn take() -> Self {
        Self { mounts: lines("/proc/self/mountinfo"), descriptors: descriptors(), segments: segments() }
    }

    /// What is there now that was not: processes that we started, mounts of ours, descriptors, segments of our uid.
    pub fn left(&self) -> Vec<String> {
        let mut left: Vec<String> = children().into_iter().map(|pid| format!("process {pid}")).collect();
        let new = |now: BTreeSet<String>, before: &BTreeSet<String>| -> Vec<String> {
            now.difference(before).cloned().collect()
        };
        left.extend(
            new(lines("/proc/self/mountinfo"), &self.mounts).into_iter().map(|m| format!("mount {m}")),
        );
        left.extend(new(segments(), &self.segments).into_iter().map(|s| format!("System V segment {s}")));
        let now = descriptors();
        if now > self.descriptors {
            left.push(format!("{} descriptors", now - self.descriptors));
        }
        left
    }
}

fn lines(path: &str) -> BTreeSet<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Keys of the segments that belong to our uid, but for those whose maker is another program that runs: what the jails left
/// has a maker that is gone.
fn segments() -> BTreeSet<String> {
    let uid = nix::unistd::geteuid().to_string();
    let own = std::process::id().to_string();
    let ours = |line: &String| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let maker = fields.get(4).copied().unwrap_or_default();
        fields.get(7) == Some(&uid.as_str())
            && (maker == own || !std::path::Path::new("/proc").join(maker).exists())
    };
    let key = |line: String| line.split_whitespace().next().unwrap_or_default().to_owned();
    lines("/proc/sysvipc/shm").into_iter().filter(ours).map(key).collect()
}

/// Processes whose parent we are, zombies included.
fn children() -> Vec<u32> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        if parent == Some(&own) {
            found.push(pid);
        }
    }
    found
}
