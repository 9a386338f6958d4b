//! Limits that contradict each other, can never be reached, or bound nothing.

use super::Severity::{Note, Warning};
use super::{Find, Hit, Rule, Subject, holds};
use crate::audit::units::{bytes, millis};
use crate::policy::Limits;

const MIB: u64 = 1 << 20;

/// What numpy needs without any thread of its own, and what each one adds, in MiB of address space.
const NUMPY_MIB: u64 = 103;
const BLAS_THREAD_MIB: u64 = 41;

fn one(pointer: &str, wrong: bool, what: impl FnOnce() -> String) -> Vec<Hit> {
    if wrong { vec![Hit::policy(pointer, what())] } else { Vec::new() }
}

fn l<'a>(subject: &Subject<'a>) -> &'a Limits {
    subject.policy.limits()
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "SJ-P002",
        name: "tmpfs-over-memory",
        severity: Warning,
        why: "In a cgroup the pages of a tmpfs count as the run's memory: writing a file ends in an OOM kill where ENOSPC was meant.",
        source: "sosy-lab/benchexec#286, moby/moby#39004",
        fix: "Make the tmpfs no larger than limits.memory.",
        find: Find::With(|s| {
            let memory = l(s).memory_bytes.value;
            [("workdir", l(s).workdir_bytes.value), ("shm", l(s).shm_bytes.value)]
                .into_iter()
                .filter(|(_, size)| *size > memory)
                .map(|(name, size)| {
                    Hit::policy(
                        &format!("/limits/{name}"),
                        format!("limits.{name} {} is more than limits.memory {}", bytes(size), bytes(memory)),
                    )
                })
                .collect()
        }),
    },
    Rule {
        id: "SJ-P003",
        name: "cpu-never-reached",
        severity: Warning,
        why: "A limit that another one always reaches first holds nothing, and a reader believes that it does.",
        source: "",
        fix: "Set limits.cpu to at most limits.wall.max times the threads.",
        find: Find::With(|s| {
            let most = l(s).wall_max_ms.saturating_mul(l(s).threads.value);
            one("/limits/cpu", l(s).cpu_s.value * 1_000 > most, || {
                format!(
                    "{} s of processor time cannot be used in {} by {} threads",
                    l(s).cpu_s.value,
                    millis(l(s).wall_max_ms),
                    l(s).threads.value
                )
            })
        }),
    },
    Rule {
        id: "SJ-P004",
        name: "file-never-reached",
        severity: Warning,
        why: "The file system is full before a file is that large: one file can then fill the whole workdir.",
        source: "",
        fix: "Set limits.file below limits.workdir.",
        find: Find::With(|s| {
            let room = l(s).workdir_bytes.value.max(l(s).shm_bytes.value);
            one("/limits/file", l(s).file_bytes.value > room, || {
                format!(
                    "limits.file {} is more than the largest tmpfs, {}",
                    bytes(l(s).file_bytes.value),
                    bytes(room)
                )
            })
        }),
    },
    Rule {
        id: "SJ-P005",
        name: "artifact-never-reached",
        severity: Warning,
        why: "A limit that another one always reaches first holds nothing, and a reader believes that it does.",
        source: "",
        fix: "One artifact at most limits.file and limits.artifacts_total, all together at most limits.workdir.",
        find: Find::With(|s| {
            let (one_file, all) = (l(s).artifact_bytes.value, l(s).artifacts_total_bytes.value);
            let mut hits = one("/limits/artifact", one_file > all.min(l(s).file_bytes.value), || {
                format!(
                    "no artifact of {} can be: limits.file and limits.artifacts_total are lower",
                    bytes(one_file)
                )
            });
            hits.extend(one("/limits/artifacts_total", all > l(s).workdir_bytes.value, || {
                format!("{} of artifacts do not fit the workdir", bytes(all))
            }));
            hits
        }),
    },
    Rule {
        id: "SJ-P006",
        name: "artifacts-contradict",
        severity: Warning,
        why: "One limit says that artifacts are collected, another that none are.",
        source: "",
        fix: "Set all of limits.artifacts, limits.artifact and limits.artifacts_total to 0, or none.",
        find: Find::With(|s| {
            let zero = [l(s).artifacts.value, l(s).artifact_bytes.value, l(s).artifacts_total_bytes.value]
                .map(|value| value == 0);
            one("/limits/artifacts", zero.contains(&true) && zero.contains(&false), || {
                "some of the artifact limits are 0 and some are not".to_owned()
            })
        }),
    },
    Rule {
        id: "SJ-P007",
        name: "in-contradicts",
        severity: Warning,
        why: "One limit says that files may be handed in, another that none may.",
        source: "",
        fix: "Set both limits.in_files and limits.in_total to 0, or neither.",
        find: Find::With(|s| {
            one("/limits/in_files", (l(s).in_files.value == 0) != (l(s).in_total_bytes.value == 0), || {
                "one of limits.in_files and limits.in_total is 0".to_owned()
            })
        }),
    },
    Rule {
        id: "SJ-P008",
        name: "denials-kept-never-reached",
        severity: Warning,
        why: "The run is killed before that many denials can be kept.",
        source: "",
        fix: "Set limits.denials_kept to at most limits.denials.",
        find: Find::With(|s| {
            one("/limits/denials_kept", l(s).denials_kept.value > l(s).denials.value, || {
                format!(
                    "{} are kept, and at {} the run is killed",
                    l(s).denials_kept.value,
                    l(s).denials.value
                )
            })
        }),
    },
    Rule {
        id: "SJ-P009",
        name: "descriptors-with-socketpairs",
        severity: Warning,
        why: "Each end of a socketpair pins kernel memory that no rlimit counts: 256 descriptors stay below 56 MiB, more do not.",
        source: "unix(7); measured",
        fix: "Set limits.open_files to 256 or less, or take socketpair out of the filter.",
        find: Find::With(|s| {
            one("/limits/open_files", l(s).open_files.value > 256 && !holds(s, "never socketpair"), || {
                format!("{} descriptors and the filter allows socketpair", l(s).open_files.value)
            })
        }),
    },
    Rule {
        id: "SJ-P010",
        name: "wall-very-long",
        severity: Warning,
        why: "A run that nobody waits for holds its memory and its place among the runner's workers.",
        source: "",
        fix: "Ten minutes are more than an agent waits for.",
        find: Find::With(|s| {
            one("/limits/wall/max", l(s).wall_max_ms > 600_000, || {
                format!("a caller may ask for {}", millis(l(s).wall_max_ms))
            })
        }),
    },
    Rule {
        id: "SJ-P011",
        name: "stdout-very-large",
        severity: Warning,
        why: "The supervisor holds stdout in its own memory, once per run.",
        source: "python-discord/snekbox#81, ggozad/haiku.rag#623",
        fix: "Write large results to /workdir/out and collect them with --out.",
        find: Find::With(|s| {
            one("/limits/stdout", l(s).stdout_bytes.value > 16 * MIB, || {
                format!("limits.stdout is {}", bytes(l(s).stdout_bytes.value))
            })
        }),
    },
    Rule {
        id: "SJ-P012",
        name: "memory-very-small",
        severity: Note,
        why: "numpy alone reserves 144 MiB; plain Python starts in less.",
        source: "numpy/numpy#18141",
        fix: "Give it 256 MiB where skills use numerical libraries.",
        find: Find::With(|s| {
            one("/limits/memory", l(s).memory_bytes.value < 144 * MIB, || {
                format!("limits.memory is {}", bytes(l(s).memory_bytes.value))
            })
        }),
    },
    Rule {
        id: "SJ-P013",
        name: "blas-over-memory",
        severity: Warning,
        why: "Each thread of a BLAS pool reserves 41 MiB of address space as the library is imported: the import fails.",
        source: "numpy/numpy#18141, OpenMathLib/OpenBLAS#4762",
        fix: "Fewer compute_threads, or more memory.",
        find: Find::With(|s| {
            let need = (NUMPY_MIB + BLAS_THREAD_MIB * l(s).compute_threads.value) * MIB;
            let several = l(s).compute_threads.value > 1;
            one("/limits/compute_threads", several && need > l(s).memory_bytes.value, || {
                format!(
                    "{} compute threads need {}, limits.memory is {}",
                    l(s).compute_threads.value,
                    bytes(need),
                    bytes(l(s).memory_bytes.value)
                )
            })
        }),
    },
    Rule {
        id: "SJ-P014",
        name: "threads-never-reached",
        severity: Warning,
        why: "The filter lets no thread be made: the limit holds nothing.",
        source: "",
        fix: "Set limits.threads to 1.",
        find: Find::With(|s| {
            one("/limits/threads", l(s).threads.value > 1 && holds(s, "never clone"), || {
                format!("limits.threads is {}, and the filter refuses clone", l(s).threads.value)
            })
        }),
    },
    Rule {
        id: "SJ-P015",
        name: "one-thread-by-limit-alone",
        severity: Warning,
        why: "Only RLIMIT_NPROC keeps the second thread away, and it counts for the user namespace; the filter could refuse it for good.",
        source: "openedx/codejail#239",
        fix: "Take clone out of the filter, as `strict` does.",
        find: Find::With(|s| {
            one("/limits/threads", l(s).threads.value == 1 && !holds(s, "never clone"), || {
                "limits.threads is 1, and the filter allows clone".to_owned()
            })
        }),
    },
    Rule {
        id: "SJ-P016",
        name: "denials-very-many",
        severity: Warning,
        why: "Who probes the filter gets that many tries before anything happens.",
        source: "",
        fix: "An honest program stops after a few: 4096 is plenty.",
        find: Find::With(|s| {
            one("/limits/denials", l(s).denials.value > 65_536, || {
                format!("limits.denials is {}", l(s).denials.value)
            })
        }),
    },
    Rule {
        id: "SJ-P017",
        name: "inodes-very-many",
        severity: Warning,
        why: "An empty file costs no byte of the tmpfs and a kilobyte of kernel memory that no rlimit counts.",
        source: "tmpfs(5)",
        fix: "Set limits.workdir_inodes to what an unpacked archive needs.",
        find: Find::With(|s| {
            one("/limits/workdir_inodes", l(s).workdir_inodes.value > 262_144, || {
                format!("limits.workdir_inodes is {}", l(s).workdir_inodes.value)
            })
        }),
    },
    Rule {
        id: "SJ-P018",
        name: "nothing-comes-out",
        severity: Warning,
        why: "A script without stdout and without artifacts can give no result.",
        source: "",
        fix: "Allow some stdout, or artifacts.",
        find: Find::With(|s| {
            one("/limits/stdout", l(s).stdout_bytes.value == 0 && l(s).artifacts.value == 0, || {
                "neither stdout nor artifacts are allowed".to_owned()
            })
        }),
    },
];
