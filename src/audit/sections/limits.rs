//! What is bounded, by whom, and what happens there.

use super::table;
use crate::audit::sheet::Section;
use crate::audit::units::{bytes, millis};
use crate::plan::Plan;
use crate::policy::{Bound, CgroupMode, Limits};

/// A limit: name, value, keeper, what happens when it is reached, and the reason.
type Row<'a> = (&'static str, String, &'static str, &'static str, &'a Bound);

pub(super) fn section(plan: &Plan) -> Section {
    let l = &plan.limits;
    let required = plan.cgroup.mode == CgroupMode::Required;
    let rows = [process(l, required), files(l), streams(l)].into_iter().flatten();
    let rows = rows
        .map(|(name, value, keeper, then, bound)| {
            vec![name.to_owned(), value, keeper.to_owned(), then.to_owned(), bound.reason.clone()]
        })
        .collect();
    let cgroup = if required {
        "A delegated cgroup (--cgroup) is a must."
    } else {
        "A delegated cgroup is used where --cgroup hands one over; rlimits and tmpfs sizes otherwise."
    };
    let about = format!("What is bounded, by whom, and what happens there. {cgroup} {}", plan.cgroup.reason);
    let head = ["limit", "value", "kept by", "when it is reached", "why this much"];
    super::section("limits", about, vec![table("", &head, rows)])
}

fn process(l: &Limits, cgroup: bool) -> Vec<Row<'_>> {
    let keeper = if cgroup { "cgroup" } else { "RLIMIT_AS (cgroup with --cgroup)" };
    let then = if cgroup { "`memory_limit`, exit 127" } else { "the program sees ENOMEM (MemoryError)" };
    let most = format!("{} (--timeout from 1 s to {})", millis(l.wall_ms.value), millis(l.wall_max_ms));
    let cpu = format!("{} s", l.cpu_s.value);
    vec![
        ("wall", most, "supervisor", "killed: `timeout`, exit 124", &l.wall_ms),
        ("cpu", cpu, "supervisor, RLIMIT_CPU above it", "killed: `cpu_limit`, exit 124", &l.cpu_s),
        ("memory", bytes(l.memory_bytes.value), keeper, then, &l.memory_bytes),
        number("threads", &l.threads, "RLIMIT_NPROC (pids.max with --cgroup)", "the program sees EAGAIN"),
        number("compute threads", &l.compute_threads, "*_NUM_THREADS", "numerical libraries start no more"),
        number("open files", &l.open_files, "RLIMIT_NOFILE", "the program sees EMFILE"),
        number("denials", &l.denials, "supervisor", "killed: `killed_by_policy`, exit 126"),
        number("denials kept", &l.denials_kept, "supervisor", "more are only counted"),
    ]
}

fn files(l: &Limits) -> Vec<Row<'_>> {
    const FULL: &str = "the program sees ENOSPC; failing then: `disk_limit`, exit 127";
    let none = l.shm_bytes.value == 0;
    let shm = if none { "none: /dev/shm is not there".to_owned() } else { bytes(l.shm_bytes.value) };
    vec![
        size("file", &l.file_bytes, "RLIMIT_FSIZE", "SIGXFSZ or EFBIG; `disk_limit`, exit 127"),
        size("workdir", &l.workdir_bytes, "tmpfs", FULL),
        number("workdir inodes", &l.workdir_inodes, "tmpfs", FULL),
        ("shm", shm, "tmpfs", "the program sees ENOSPC", &l.shm_bytes),
    ]
}

fn streams(l: &Limits) -> Vec<Row<'_>> {
    const REFUSED: &str = "refused before anything starts: `input_rejected`, exit 120";
    const MORE: &str = "more are refused, each named in the result";
    const KILLED: &str = "one byte more: killed, nothing of it is printed: `output_limit`, exit 123";
    vec![
        size("input", &l.input_bytes, "supervisor", REFUSED),
        number("--in files", &l.in_files, "supervisor", REFUSED),
        size("--in together", &l.in_total_bytes, "supervisor", REFUSED),
        size("stdout", &l.stdout_bytes, "supervisor", KILLED),
        size("stderr", &l.stderr_bytes, "supervisor", "one byte more: killed: `output_limit`, exit 123"),
        size("stderr kept", &l.stderr_kept_bytes, "supervisor", "the tail is kept, the rest counted"),
        number("artifacts", &l.artifacts, "supervisor", MORE),
        size("one artifact", &l.artifact_bytes, "supervisor", "refused, named in the result"),
        size("artifacts together", &l.artifacts_total_bytes, "supervisor", MORE),
        number("artifact depth", &l.artifact_depth, "supervisor", "deeper folders are not entered"),
    ]
}

fn size<'a>(name: &'static str, bound: &'a Bound, keeper: &'static str, then: &'static str) -> Row<'a> {
    (name, bytes(bound.value), keeper, then, bound)
}

fn number<'a>(name: &'static str, bound: &'a Bound, keeper: &'static str, then: &'static str) -> Row<'a> {
    (name, bound.value.to_string(), keeper, then, bound)
}
