//! Why set-up failed: what we refuse ourselves, in our words; what the kernel refuses, in the words of `doctor`.

use super::cgroup::{NONE_NAMED, NOT_V2};
use crate::host::{self, Host};
use crate::report::Error;

/// The refusals that no fact of the host explains: the caller's words or its own limits do. Id, cause, hint.
fn own(layer: &str, step: &str, errno: i32) -> Option<(&'static str, &'static str, &'static str)> {
    match (layer, step) {
        ("cgroup", NONE_NAMED) => Some((
            "cgroup_required",
            "cgroup: the policy requires a cgroup, and --cgroup names none",
            "hand over a delegated cgroup v2 directory with --cgroup DIR (`skilljail doctor --cgroup DIR` judges one; systemd: Delegate=yes), or choose a policy whose cgroup is optional",
        )),
        ("cgroup", NOT_V2) => Some((
            "cgroup_not_v2",
            "cgroup: what --cgroup names is not a directory of a cgroup v2 file system",
            "name one below /sys/fs/cgroup (`stat -f -c %T DIR` says cgroup2fs); cgroup v1 cannot be delegated safely",
        )),
        ("fds", _) if step.starts_with("prlimit(RLIMIT_NOFILE)") => Some((
            "open_files_limit",
            "fds: the caller's hard limit of open files (RLIMIT_NOFILE) is below 1024, and the program is executed from descriptor 1023",
            "raise it for skilljail: ulimit -Hn 1024, LimitNOFILE=1024 of the unit, --ulimit nofile=1024 of the container; inside the jail the policy's limit holds",
        )),
        ("mounts", _) if errno == libc::EFBIG => Some((
            "file_size_limit",
            "mounts: a file of the skill is larger than the caller's limit of file sizes (RLIMIT_FSIZE)",
            "raise it for skilljail: ulimit -f, LimitFSIZE= of the unit; inside the jail the policy's limit holds",
        )),
        ("idmap", _) if errno == libc::EAGAIN && step.starts_with("every id") => Some((
            "outer_ids_in_use",
            "idmap: as many runs are going on as the policy has outer ids",
            "wait for one to end, or raise outer_ids.count in the policy",
        )),
        _ => None,
    }
}

/// What is told of a step that failed.
pub(super) fn error(layer: &str, step: &str, errno: i32) -> Error {
    if let Some((id, cause, hint)) = own(layer, step, errno) {
        let (layer, step, errno) = (Some(layer.to_owned()), Some(step.to_owned()), Some(errno));
        let cause = cause.to_owned();
        return Error { id: id.to_owned(), layer, step, errno, cause, hint: Some(hint.to_owned()) };
    }
    let diagnosis = host::diagnose_layer(layer, step, errno, &Host::probe(None));
    Error {
        id: diagnosis.id(),
        layer: Some(layer.to_owned()),
        step: Some(step.to_owned()),
        errno: Some(errno),
        cause: format!("{layer}: {step}: {}: {diagnosis}", std::io::Error::from_raw_os_error(errno)),
        hint: Some(diagnosis.hint()),
    }
}
