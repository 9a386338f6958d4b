//! From a plan to everything that the child and the watch need, before clone.

use super::channel;
use super::outer;
use super::warm;
use crate::egress;
use crate::layer::{self, ApplyError, fds, landlock, mounts, seccomp};
use crate::payload;
use crate::plan::Plan;
use crate::seccomp::{Compiled, shipped};
use crate::sys::fd;
use nix::fcntl::OFlag;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// What the payload reads.
#[derive(Debug)]
pub enum Stdin {
    /// These bytes, then end of file.
    Bytes(Vec<u8>),
    /// What comes on our own stdin, relayed: the payload never holds the caller's descriptor.
    Relay,
    /// Bytes that come when the payload waits for them.
    Later,
}

/// Reads the secrets, after clone; answers `NAME=VALUE` strings that end in NUL, or why not.
pub type Secrets<'a> = Box<dyn FnMut() -> Result<Vec<u8>, String> + 'a>;

/// One run.
pub struct Job<'a> {
    /// What is applied.
    pub plan: &'a Plan,
    /// The payload's filter.
    pub filter: &'a Compiled,
    /// The file that is executed, checked and open.
    pub exec: OwnedFd,
    /// What the payload reads.
    pub stdin: Stdin,
    /// The bytes of the plan's files that it names only.
    pub files: &'a mounts::Lookup<'a>,
    /// Declared variables that no plan and no result shows.
    pub literals: Vec<(String, String)>,
    /// Where the secrets come from, if the skill declares any.
    pub secrets: Option<Secrets<'a>>,
    /// Who hands over the input later, with [`Stdin::Later`].
    pub warm: Option<warm::Caller<'a>>,
    /// Whether stdout is passed on as it comes.
    pub stream: bool,
    /// The wall-clock limit.
    pub wall: Duration,
    /// The delegated cgroup.
    pub cgroup: Option<&'a Path>,
}

/// The child's things.
pub struct Prepared {
    /// Layers.
    pub layers: layer::Prepared,
    /// argv and environment.
    pub payload: payload::Prepared,
    /// Whether a pipe brings secrets.
    pub has_secrets: bool,
    /// Holds the outer id until the end of the run.
    pub outer: Option<outer::Held>,
}

/// The supervisor's ends.
#[derive(Debug)]
pub struct Ours {
    /// The channel.
    pub channel: OwnedFd,
    /// Write end of the payload's stdin.
    pub stdin: OwnedFd,
    /// Read end of its stdout.
    pub stdout: OwnedFd,
    /// Read end of its stderr.
    pub stderr: OwnedFd,
    /// Write end of the secrets' pipe.
    pub secrets: Option<OwnedFd>,
    /// What serves the jail's connections, where it may have any.
    pub egress: Option<egress::Prepared>,
    /// What to write to stdin.
    pub input: Stdin,
}

/// The numbers that the watch needs.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Wall-clock limit.
    pub wall: Duration,
    /// Processor time.
    pub cpu: Duration,
    /// stdout's cap.
    pub stdout: u64,
    /// stderr's cap.
    pub stderr: u64,
    /// How much of stderr's tail is kept.
    pub stderr_kept: u64,
    /// Denials kept.
    pub denials_kept: u64,
    /// Denials borne.
    pub denials: u64,
}

fn pipe() -> Result<(OwnedFd, OwnedFd), ApplyError> {
    nix::unistd::pipe2(OFlag::O_CLOEXEC).map_err(|errno| ApplyError {
        layer: "supervisor",
        step: "pipe2",
        errno: errno as i32,
    })
}

/// What the caller still has to say when the jail is there; it outlives the clone on our side only.
pub struct Callers<'a> {
    /// Reads the secrets.
    pub secrets: Option<Secrets<'a>>,
    /// Hands over the input.
    pub warm: Option<warm::Caller<'a>>,
}

/// Makes everything.
pub fn prepare(job: Job<'_>) -> Result<(Prepared, Ours, Bounds, Callers<'_>), ApplyError> {
    let plan = job.plan;
    let nonblocking = |end: &OwnedFd| {
        fd::set_nonblocking(end.as_fd()).map_err(|error: io::Error| super::failed("fcntl(O_NONBLOCK)")(error))
    };
    let (child_stdin, stdin) = pipe()?;
    let (stdout, child_stdout) = pipe()?;
    let (stderr, child_stderr) = pipe()?;
    for end in [&stdin, &stdout, &stderr] {
        nonblocking(end)?;
    }
    let (child_secrets, secrets) = match &job.secrets {
        Some(_) => {
            let (read, write) = pipe()?;
            (Some(read), Some(write))
        }
        None => (None, None),
    };
    let (ours, theirs) = channel::pair().map_err(|errno| super::failed("socketpair")(errno.into()))?;
    let (idmap, held) = outer::maps(&plan.idmap)?;
    let init = shipped("init").ok_or(ApplyError {
        layer: "init",
        step: "this build has no filter for init",
        errno: libc::ENOENT,
    })?;
    let layers = layer::Prepared {
        idmap,
        fds: fds::Prepared::new(
            [child_stdin, child_stdout, child_stderr],
            theirs,
            child_secrets,
            job.exec.as_fd(),
        )?,
        mounts: mounts::Prepared::new(&plan.mounts, job.files)?,
        net: plan.net.clone(),
        rlimits: plan.rlimits.clone(),
        privs: plan.privs.clone(),
        landlock: landlock::Prepared::new(&plan.landlock)?,
        seccomp: seccomp::Prepared {
            payload: job.filter.program().to_vec(),
            init: init.program().to_vec(),
            notify: job.filter.notify(),
        },
        #[cfg(feature = "lab")]
        without: layer::without::Without::default(),
    };
    let egress =
        plan.net.egress.as_ref().map(|egress| egress::Prepared::new(egress, &plan.policy)).transpose();
    let egress = egress.map_err(super::failed("prepare the egress broker"))?;
    let payload = payload::Prepared::new(&plan.payload, &job.literals)?;
    let limits = &plan.limits;
    let bounds = Bounds {
        wall: job.wall,
        cpu: super::cpu::bound(limits.cpu_s.value),
        stdout: limits.stdout_bytes.value,
        stderr: limits.stderr_bytes.value,
        stderr_kept: limits.stderr_kept_bytes.value,
        denials_kept: limits.denials_kept.value,
        denials: limits.denials.value,
    };
    let prepared = Prepared { layers, payload, has_secrets: secrets.is_some(), outer: held };
    let ours = Ours { channel: ours, stdin, stdout, stderr, secrets, egress, input: job.stdin };
    Ok((prepared, ours, bounds, Callers { secrets: job.secrets, warm: job.warm }))
}
