//! A cgroup v2 leaf for one run, beneath a directory that was delegated to the caller.
//!
//! A leaf is held by a lock on its directory, which the kernel drops with its holder; a leaf that nobody holds was
//! left by a killed supervisor and is swept by the next run.

use super::outcome::CgroupCounts;
use super::prepare::Job;
use crate::layer::ApplyError;
use crate::policy::CgroupMode;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PREFIX: &str = "skilljail-";
/// The step of a run whose policy insists on a cgroup that nobody handed over.
pub const NONE_NAMED: &str = "the policy requires a cgroup and --cgroup names none";
/// The step of a `--cgroup` that is something else.
pub const NOT_V2: &str = "--cgroup is not a cgroup v2 directory";

/// A leaf of one run; removed by [`Leaf::finish`], or when dropped.
#[derive(Debug)]
pub struct Leaf {
    path: PathBuf,
    // Holds the lock that says that somebody looks after this leaf.
    dir: Flock<File>,
}

fn failed(step: &'static str) -> impl Fn(io::Error) -> ApplyError {
    move |error| ApplyError { layer: "cgroup", step, errno: crate::sys::errno(&error) }
}

fn lock(dir: File, how: FlockArg, step: &'static str) -> Result<Flock<File>, ApplyError> {
    Flock::lock(dir, how).map_err(|(_, errno)| failed(step)(errno.into()))
}

impl Leaf {
    /// The leaf that the job needs; none when the policy does not insist and none was handed over.
    pub(super) fn for_job(job: &Job<'_>) -> Result<Option<Self>, ApplyError> {
        let Some(parent) = job.cgroup else {
            if job.plan.cgroup.mode == CgroupMode::Required {
                return Err(failed(NONE_NAMED)(io::Error::from_raw_os_error(libc::ENOENT)));
            }
            return Ok(None);
        };
        Self::make(parent, job).map(Some)
    }

    fn make(parent: &Path, job: &Job<'_>) -> Result<Self, ApplyError> {
        let dir = File::open(parent).map_err(failed("open --cgroup"))?;
        let kind =
            nix::sys::statfs::fstatfs(&dir).map_err(|errno| failed("statfs --cgroup")(errno.into()))?;
        if kind.filesystem_type() != nix::sys::statfs::CGROUP2_SUPER_MAGIC {
            return Err(failed(NOT_V2)(io::Error::from_raw_os_error(libc::EINVAL)));
        }
        // Held while leaves come and go, so that no sweep sees a leaf that is not locked yet.
        let parent_lock = lock(dir, FlockArg::LockExclusive, "lock --cgroup")?;
        sweep(parent);
        enable_controllers(parent)?;
        let path = parent.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&path).map_err(failed("mkdir the leaf"))?;
        let leaf = File::open(&path)
            .map_err(failed("open the leaf"))
            .and_then(|dir| lock(dir, FlockArg::LockExclusiveNonblock, "lock the leaf"));
        let leaf = match leaf {
            Ok(dir) => Self { path, dir },
            Err(error) => {
                drop(fs::remove_dir(&path));
                return Err(error);
            }
        };
        drop(parent_lock);
        leaf.set_limits(job)?;
        Ok(leaf)
    }

    fn set_limits(&self, job: &Job<'_>) -> Result<(), ApplyError> {
        let limits = &job.plan.limits;
        // tmpfs pages are charged here too; they have bounds of their own, which come on top.
        let memory = limits.memory_bytes.value + limits.workdir_bytes.value + limits.shm_bytes.value;
        self.write("memory.max", &memory.to_string())?;
        // Kernels without swap accounting have no such file, and then nothing can be swapped out of the count.
        if self.path.join("memory.swap.max").exists() {
            self.write("memory.swap.max", "0")?;
        }
        self.write("memory.oom.group", "1")?;
        self.write("pids.max", &(limits.threads.value + 1).to_string())
    }

    fn write(&self, file: &'static str, value: &str) -> Result<(), ApplyError> {
        fs::write(self.path.join(file), value).map_err(failed(file))
    }

    /// For `CLONE_INTO_CGROUP`.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    fn event(&self, file: &str, key: &str) -> u64 {
        let text = fs::read_to_string(self.path.join(file)).unwrap_or_default();
        let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
    }

    /// Reads what was counted, then kills and removes.
    pub fn finish(self) -> CgroupCounts {
        let peak = fs::read_to_string(self.path.join("memory.peak")).ok();
        CgroupCounts {
            oom_kills: self.event("memory.events", "oom_kill"),
            pids_max: self.event("pids.events", "max"),
            memory_peak: peak.and_then(|text| text.trim().parse().ok()),
        }
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Kills what is in a leaf and removes it; the kernel needs a moment between the two (EBUSY).
fn remove(path: &Path) {
    drop(fs::write(path.join("cgroup.kill"), "1"));
    for _ in 0..200 {
        match fs::remove_dir(path) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                std::thread::sleep(Duration::from_millis(5));
            }
            _ => return,
        }
    }
}

fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        if let Ok(dir) = File::open(entry.path())
            && let Ok(unheld) = Flock::lock(dir, FlockArg::LockExclusiveNonblock)
        {
            remove(&entry.path());
            drop(unheld);
        }
    }
}

fn enable_controllers(parent: &Path) -> Result<(), ApplyError> {
    let enabled = fs::read_to_string(parent.join("cgroup.subtree_control"))
        .map_err(failed("cgroup.subtree_control"))?;
    let has = |name: &str| enabled.split_whitespace().any(|word| word == name);
    if has("memory") && has("pids") {
        return Ok(());
    }
    fs::write(parent.join("cgroup.subtree_control"), "+memory +pids")
        .map_err(failed("enable memory and pids in cgroup.subtree_control"))
}
