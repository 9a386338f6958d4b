//! The parent's straight line: prepare, clone, maps, go, listener, watch, end.

pub mod account;
mod cause;
pub mod cgroup;
pub mod channel;
pub mod child;
pub mod collect;
pub mod cpu;
pub mod feed;
pub mod init;
#[cfg(feature = "lab")]
pub mod laboratory;
pub mod outcome;
pub mod outer;
pub mod prepare;
pub mod program;
mod refused;
pub mod streams;
pub mod verdict;
pub mod warm;
pub mod watch;

pub use outcome::{End, KillReason, Outcome};
pub use prepare::{Job, Stdin};

use crate::layer::{ApplyError, idmap};
use crate::sys::clone3::{Cloned, clone3};
use crate::sys::{errno, signal};
use nix::sched::CloneFlags;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::Instant;

/// Every namespace that the jail has of its own.
fn namespaces() -> u64 {
    let flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWCGROUP;
    u64::from(flags.bits().unsigned_abs())
}

fn failed(step: &'static str) -> impl Fn(io::Error) -> ApplyError {
    move |error| ApplyError { layer: "supervisor", step, errno: errno(&error) }
}

/// Runs one job to its end. Whatever happens, the jail is gone when this returns.
///
/// # Errors
/// None: a set-up that failed is an [`Outcome`] too, because it has a result document.
pub fn run(job: Job<'_>) -> Outcome {
    run_with(
        job,
        #[cfg(feature = "lab")]
        &laboratory::Experiment::default(),
    )
}

fn run_with(job: Job<'_>, #[cfg(feature = "lab")] experiment: &laboratory::Experiment) -> Outcome {
    let started = Instant::now();
    let wall = job.wall;
    let launched = refuse_elevated().and_then(|()| {
        launch(
            job,
            started,
            #[cfg(feature = "lab")]
            experiment,
        )
    });
    let outcome = match launched {
        Ok(outcome) => outcome,
        Err(error) => Outcome::setup_failed(error, started, wall),
    };
    // From here on a signal ends us as any program: whoever does not read our output must be able to stop us. There is
    // nobody to tell if this fails, and nothing in it that could.
    drop(signal::set_mask(&[]));
    outcome
}

fn launch(
    job: Job<'_>,
    started: Instant,
    #[cfg(feature = "lab")] experiment: &laboratory::Experiment,
) -> Result<Outcome, ApplyError> {
    let signals = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
    signal::prepare_supervisor().map_err(failed("signal"))?;
    // Blocked with them: what stops a process in the background of a terminal. A stopped supervisor keeps no deadline;
    // a read from that terminal is an error instead (EIO).
    signal::set_mask(&[&signals[..], &[libc::SIGTTIN, libc::SIGTTOU]].concat())
        .map_err(failed("sigprocmask"))?;
    let cancel = signal::signalfd(&signals).map_err(failed("signalfd"))?;
    let more = cancel.try_clone().map_err(failed("fcntl(F_DUPFD_CLOEXEC)"))?;

    let leaf = cgroup::Leaf::for_job(&job)?;
    let stream = job.stream;
    let (prepared, ours, limits, mut callers) = prepare::prepare(job)?;
    #[cfg(feature = "lab")]
    let (prepared, namespaces) = {
        let mut prepared = prepared;
        experiment.change(&mut prepared);
        (prepared, experiment.namespaces(namespaces()))
    };
    #[cfg(not(feature = "lab"))]
    let namespaces = namespaces();
    let prepare::Prepared { layers, payload, has_secrets, outer: _held } = prepared;
    let prepared_at = Instant::now();
    let cloned = clone3(namespaces, leaf.as_ref().map(cgroup::Leaf::fd)).map_err(failed("clone3"))?;
    let (pid, pidfd) = match cloned {
        Cloned::Child => child::run(&layers, payload, has_secrets),
        Cloned::Parent { pid, pidfd } => (pid, pidfd),
    };
    let cloned_at = Instant::now();
    let idmap = layers.idmap.clone();
    let proc_pid = pid_in_proc(&pidfd).map_err(failed("the child's pid in /proc"));
    let mut jail = watch::Jail::new(pid, pidfd, ours, cancel, &limits, started);
    #[cfg(feature = "lab")]
    let has_maps = experiment.has_maps();
    #[cfg(not(feature = "lab"))]
    let has_maps = true;
    #[cfg(feature = "lab")]
    if experiment.let_through.is_some() {
        jail.let_through();
    }
    let mapped = if has_maps { proc_pid.and_then(|pid| idmap::write_maps(&idmap, pid)) } else { Ok(()) };
    let ahead = callers.warm.as_ref().map_or(Ok(()), |caller| jail.start_ahead(caller));
    let mapped = mapped.and_then(|()| ahead.map_err(failed("fstat (stdin)")));
    if stream {
        jail.stream();
    }
    jail.took(&[
        ("prepare", prepared_at.saturating_duration_since(started)),
        ("clone3", cloned_at.saturating_duration_since(prepared_at)),
        ("maps", cloned_at.elapsed()),
    ]);
    let ready = mapped.and_then(|()| channel::send_go(jail.channel()).map_err(failed("send go")));
    // The child has its copies; with ours open, no pipe would ever say end of file. Not before the child was let go: it is
    // on the way now, and we have time.
    drop(layers);
    match ready {
        Ok(()) => jail.watch(&mut callers.secrets, &mut callers.warm),
        Err(error) => jail.fail(error),
    }
    let mut outcome = jail.end();
    // A second ^C of an impatient user is the same wish, not a reason to lose the document.
    while let Ok(Some(_)) = signal::next(more.as_raw_fd()) {}
    if let Some(leaf) = leaf {
        outcome.cgroup = Some(leaf.finish());
    }
    Ok(outcome)
}

/// The child's pid as the mounted `/proc` counts: where that is the one of a pid namespace further out (`unshare --pid`
/// without `--mount-proc`), our own number of the child names another process in it.
fn pid_in_proc(pidfd: &OwnedFd) -> io::Result<i32> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd()))?;
    let pid = text.lines().find_map(|line| line.strip_prefix("Pid:"));
    let pid = pid.and_then(|pid| pid.trim().parse().ok()).filter(|pid| *pid > 0);
    pid.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))
}

/// Refuses to be a set-user-ID program: then the caller chooses what a more powerful user runs.
fn refuse_elevated() -> Result<(), ApplyError> {
    let elevated = crate::sys::getauxval::at_secure()
        || nix::unistd::getuid() != nix::unistd::geteuid()
        || nix::unistd::getgid() != nix::unistd::getegid();
    if elevated {
        return Err(ApplyError {
            layer: "supervisor",
            step: "started set-user-ID or with file capabilities: refused",
            errno: libc::EPERM,
        });
    }
    Ok(())
}
