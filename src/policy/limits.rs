//! The bounds of a run as numbers, each with its reason.

use super::PolicyError;
use super::schema;
use super::units::{self, UnitError};
use crate::seccomp;
use serde::Serialize;

/// A number with the reason that the policy gives for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bound {
    /// The number; the unit is in the name of the field that holds it.
    pub value: u64,
    /// Why this much.
    pub reason: String,
}

/// Every bound of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Wall-clock time, from exec to the end.
    pub wall_ms: Bound,
    /// The most that the caller may ask for.
    pub wall_max_ms: u64,
    /// Processor time of the whole jail; RLIMIT_CPU counts whole seconds.
    pub cpu_s: Bound,
    /// The JSON input.
    pub input_bytes: Bound,
    /// stdout; past it the run is killed and nothing is printed.
    pub stdout_bytes: Bound,
    /// stderr; past it the run is killed.
    pub stderr_bytes: Bound,
    /// The tail of stderr that is kept.
    pub stderr_kept_bytes: Bound,
    /// Memory of the processes: RLIMIT_AS, or memory.max less the tmpfs sizes.
    pub memory_bytes: Bound,
    /// Size of the workdir's tmpfs.
    pub workdir_bytes: Bound,
    /// Inodes of the workdir's tmpfs.
    pub workdir_inodes: Bound,
    /// Size of /dev/shm; 0: there is none.
    pub shm_bytes: Bound,
    /// One file (RLIMIT_FSIZE).
    pub file_bytes: Bound,
    /// Descriptor numbers (RLIMIT_NOFILE).
    pub open_files: Bound,
    /// Threads of the script, its first included.
    pub threads: Bound,
    /// What numerical libraries are told to start (`*_NUM_THREADS`).
    pub compute_threads: Bound,
    /// Distinct denials that the result keeps.
    pub denials_kept: Bound,
    /// Denied calls after which the run is killed.
    pub denials: Bound,
    /// Files of `--in`.
    pub in_files: Bound,
    /// Bytes of them together.
    pub in_total_bytes: Bound,
    /// Artifacts collected.
    pub artifacts: Bound,
    /// Apparent size of one.
    pub artifact_bytes: Bound,
    /// Apparent size of all.
    pub artifacts_total_bytes: Bound,
    /// Directories below `out` that are entered.
    pub artifact_depth: Bound,
}

/// The lowest descriptor number that `RLIMIT_NOFILE` of every policy makes unreachable: the exec descriptor's.
pub const MAX_OPEN_FILES: u64 = seccomp::MAX_NOFILE;

struct Field<'a> {
    name: &'static str,
    reason: &'a str,
}

impl Field<'_> {
    fn bound(&self, value: Result<u64, UnitError>) -> Result<Bound, PolicyError> {
        let value = value.map_err(|source| PolicyError::Unit { field: self.name, source })?;
        super::reason(self.name, self.reason)?;
        Ok(Bound { value, reason: self.reason.to_owned() })
    }
}

pub(super) fn size(name: &'static str, size: &schema::Size) -> Result<Bound, PolicyError> {
    Field { name, reason: &size.reason }.bound(units::bytes(&size.value))
}

pub(super) fn count(name: &'static str, count: &schema::Count) -> Result<Bound, PolicyError> {
    Field { name, reason: &count.reason }.bound(Ok(count.value))
}

pub(super) fn millis(name: &'static str, duration: &schema::Duration) -> Result<Bound, PolicyError> {
    Field { name, reason: &duration.reason }.bound(units::millis(&duration.value))
}

fn at_least(name: &'static str, bound: &Bound, low: u64) -> Result<(), PolicyError> {
    if bound.value < low {
        return Err(PolicyError::Range { field: name, value: bound.value, low, high: u64::MAX });
    }
    Ok(())
}

pub(super) fn within(name: &'static str, bound: &Bound, low: u64, high: u64) -> Result<(), PolicyError> {
    if (low..=high).contains(&bound.value) {
        return Ok(());
    }
    Err(PolicyError::Range { field: name, value: bound.value, low, high })
}

impl Limits {
    /// Reads and checks the `limits` object.
    pub(super) fn new(raw: &schema::Limits) -> Result<Self, PolicyError> {
        let cpu =
            Field { name: "limits.cpu", reason: &raw.cpu.reason }.bound(units::millis(&raw.cpu.value))?;
        if cpu.value % 1_000 != 0 {
            return Err(PolicyError::WholeSeconds { field: "limits.cpu", value: raw.cpu.value.clone() });
        }
        let wall_max_ms = units::millis(&raw.wall.max)
            .map_err(|source| PolicyError::Unit { field: "limits.wall.max", source })?;
        let limits = Self {
            wall_ms: Field { name: "limits.wall", reason: &raw.wall.reason }
                .bound(units::millis(&raw.wall.value))?,
            wall_max_ms,
            cpu_s: Bound { value: cpu.value / 1_000, reason: cpu.reason },
            input_bytes: size("limits.input", &raw.input)?,
            stdout_bytes: size("limits.stdout", &raw.stdout)?,
            stderr_bytes: size("limits.stderr", &raw.stderr)?,
            stderr_kept_bytes: size("limits.stderr_kept", &raw.stderr_kept)?,
            memory_bytes: size("limits.memory", &raw.memory)?,
            workdir_bytes: size("limits.workdir", &raw.workdir)?,
            workdir_inodes: count("limits.workdir_inodes", &raw.workdir_inodes)?,
            shm_bytes: size("limits.shm", &raw.shm)?,
            file_bytes: size("limits.file", &raw.file)?,
            open_files: count("limits.open_files", &raw.open_files)?,
            threads: count("limits.threads", &raw.threads)?,
            compute_threads: count("limits.compute_threads", &raw.compute_threads)?,
            denials_kept: count("limits.denials_kept", &raw.denials_kept)?,
            denials: count("limits.denials", &raw.denials)?,
            in_files: count("limits.in_files", &raw.in_files)?,
            in_total_bytes: size("limits.in_total", &raw.in_total)?,
            artifacts: count("limits.artifacts", &raw.artifacts)?,
            artifact_bytes: size("limits.artifact", &raw.artifact)?,
            artifacts_total_bytes: size("limits.artifacts_total", &raw.artifacts_total)?,
            artifact_depth: count("limits.artifact_depth", &raw.artifact_depth)?,
        };
        limits.check()?;
        Ok(limits)
    }

    // Zero means "nothing allowed" wherever nothing is a thing one can run with; where the kernel would read it as
    // "no limit" (tmpfs) or nothing could start, it is refused.
    fn check(&self) -> Result<(), PolicyError> {
        within("limits.wall", &self.wall_ms, 1_000, self.wall_max_ms)?;
        within("limits.cpu", &self.cpu_s, 1, 86_400)?;
        within("limits.memory", &self.memory_bytes, 16 << 20, seccomp::MAX_ADDRESS_SPACE)?;
        at_least("limits.workdir", &self.workdir_bytes, 4_096)?;
        at_least("limits.workdir_inodes", &self.workdir_inodes, 16)?;
        within("limits.open_files", &self.open_files, 8, MAX_OPEN_FILES)?;
        within("limits.threads", &self.threads, 1, 4_096)?;
        within("limits.compute_threads", &self.compute_threads, 1, self.threads.value)?;
        at_least("limits.denials", &self.denials, 1)?;
        within("limits.denials_kept", &self.denials_kept, 0, 4_096)?;
        within("limits.artifact_depth", &self.artifact_depth, 0, 32)?;
        within("limits.stderr_kept", &self.stderr_kept_bytes, 0, self.stderr_bytes.value)?;
        // The supervisor holds these in its own memory.
        for (name, bound) in [
            ("limits.input", &self.input_bytes),
            ("limits.stdout", &self.stdout_bytes),
            ("limits.stderr_kept", &self.stderr_kept_bytes),
            ("limits.in_total", &self.in_total_bytes),
        ] {
            within(name, bound, 0, 1 << 30)?;
        }
        Ok(())
    }
}
