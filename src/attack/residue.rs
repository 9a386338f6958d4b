//! What is left on the host after everything: nothing may be.
//!
//! Other programs come and go meanwhile, other batteries among them; so each kind of thing is looked for where it can only be
//! ours: below this process, in its tables, or under a name that tells who made it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long what a killed run held may take to go: the kernel ends a pid namespace and unmounts on its own time.
const PATIENCE: Duration = Duration::from_secs(5);

/// What there was before.
#[derive(Debug)]
pub struct Snapshot {
    mounts: BTreeSet<String>,
    descriptors: usize,
    segments: BTreeSet<String>,
    keys: BTreeSet<String>,
    cgroups: BTreeSet<String>,
    files: BTreeSet<String>,
}

impl Snapshot {
    /// Looks, and takes in whoever loses his parent from here on: the jails of a supervisor that was killed.
    ///
    /// # Errors
    /// The kernel's, of prctl(2).
    pub fn take() -> io::Result<Self> {
        nix::sys::prctl::set_child_subreaper(true)?;
        Ok(Self {
            mounts: lines("/proc/self/mountinfo"),
            descriptors: descriptors(),
            segments: segments(),
            keys: keys(),
            cgroups: cgroups(),
            files: files(),
        })
    }

    /// What is there now that was not, once what is about to go is gone.
    pub fn left(&self) -> Vec<String> {
        let begun = Instant::now();
        loop {
            reap();
            let left = self.seen();
            if left.is_empty() || begun.elapsed() > PATIENCE {
                return left;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn seen(&self) -> Vec<String> {
        let own = namespace("self");
        let mut left = Vec::new();
        for pid in descendants() {
            left.push(format!("process {pid}"));
            let theirs = namespace(&pid.to_string()).filter(|net| Some(net) != own.as_ref());
            left.extend(theirs.map(|name| format!("network namespace {name}")));
        }
        let mut add = |kind: &str, now: BTreeSet<String>, before: &BTreeSet<String>| {
            left.extend(now.difference(before).map(|name| format!("{kind} {name}")));
        };
        add("mount", lines("/proc/self/mountinfo"), &self.mounts);
        add("System V segment", segments(), &self.segments);
        add("key", keys(), &self.keys);
        add("cgroup", cgroups(), &self.cgroups);
        add("file", files(), &self.files);
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

fn namespace(process: &str) -> Option<String> {
    Some(fs::read_link(format!("/proc/{process}/ns/net")).ok()?.display().to_string())
}

fn runs(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}

/// Keys of the segments that belong to our uid, but for those whose maker is another program that runs: what the jails left
/// has a maker that is gone.
fn segments() -> BTreeSet<String> {
    let uid = nix::unistd::geteuid().to_string();
    let own = std::process::id().to_string();
    let ours = |line: &String| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let maker = fields.get(4).copied().unwrap_or_default();
        fields.get(7) == Some(&uid.as_str()) && (maker == own || !runs(maker))
    };
    let key = |line: String| line.split_whitespace().next().unwrap_or_default().to_owned();
    lines("/proc/sysvipc/shm").into_iter().filter(ours).map(key).collect()
}

/// Keys of the types that a program can make, as far as we may see them. Not keyrings, which are each login's and each jail's
/// own and go with their last process, nor the canaries of another battery.
fn keys() -> BTreeSet<String> {
    let shown = |line: String| {
        let mut fields = line.split_whitespace();
        let (serial, kind) = (fields.next()?, fields.nth(6)?);
        let description = fields.next().unwrap_or_default();
        let ours = ["user", "logon", "big_key"].contains(&kind) && !description.starts_with("canary-");
        ours.then(|| format!("{serial} {kind} {description}"))
    };
    lines("/proc/keys").into_iter().filter_map(shown).collect()
}

/// Leaves of runs wherever cgroup v2 is mounted, but for those whose supervisor runs: it is named after it.
fn cgroups() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in lines("/proc/self/mountinfo") {
        // Optional fields end with a lone dash, after which the type follows.
        let Some((mount, rest)) = line.split_once(" - ") else { continue };
        if let (Some(top), true) = (mount.split(' ').nth(4), rest.starts_with("cgroup2 ")) {
            leaves(Path::new(top), &mut found);
        }
    }
    found
}

fn leaves(top: &Path, found: &mut BTreeSet<String>) {
    let mut queue = vec![top.to_owned()];
    while let Some(folder) = queue.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.strip_prefix("skilljail-").is_some_and(|pid| pid.parse::<u32>().is_ok() && !runs(pid)) {
                found.insert(entry.path().display().to_string());
            }
            queue.push(entry.path());
        }
    }
}

/// Where temporary files go: what bears this process's number.
fn files() -> BTreeSet<String> {
    let mark = mark();
    let mut places: BTreeSet<PathBuf> = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from).into();
    places.insert(std::env::temp_dir());
    let entries = places.into_iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().contains(&mark));
    ours.map(|entry| entry.path().display().to_string()).collect()
}

/// What the names of this process's temporary folders contain.
pub fn mark() -> String {
    format!("skilljail.{}.", std::process::id())
}

/// Everybody below this process, zombies included.
fn descendants() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let parents: Vec<(i32, i32)> = entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let (_, rest) = stat.rsplit_once(')')?;
            Some((pid, rest.split_whitespace().nth(1)?.parse().ok()?))
        })
        .collect();
    let (mut found, mut at) = (vec![std::process::id().cast_signed()], 0);
    while let Some(parent) = found.get(at).copied() {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| pid));
        at += 1;
    }
    found.split_off(1)
}

/// Jails that ended after their supervisor: the host's init would have waited for them.
fn reap() {
    use nix::sys::wait::{WaitPidFlag, waitpid};
    for pid in descendants() {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        // More than one number: it is in a pid namespace further in, so nobody here started it.
        if numbers.is_some_and(|numbers| numbers.split_whitespace().count() > 1) {
            // One that still runs is told as left; it is none of ours where somebody else is its parent.
            let _reaped = waitpid(nix::unistd::Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_whose_supervisor_is_gone_is_found_wherever_it_is() {
        let top = tempfile::tempdir().unwrap();
        let deep = top.path().join("system.slice/runner.service");
        // No pid is so high (PID_MAX_LIMIT).
        let dead = deep.join("skilljail-4194305");
        for folder in
            [&dead, &deep.join(format!("skilljail-{}", std::process::id())), &deep.join("skilljail-x")]
        {
            fs::create_dir_all(folder).unwrap();
        }
        let mut found = BTreeSet::new();
        leaves(top.path(), &mut found);
        assert_eq!(found, [dead.display().to_string()].into());
    }
}
