//! Probes by doing: each step that a run needs is really made, in a forked child that is then gone. For `doctor` only.
//!
//! That a user namespace can be made says little: some hosts make it and take its capabilities away. So the child
//! does what needs them. Each child reports step by step, has five seconds, and leaves nothing: all that it makes
//! belongs to namespaces that die with it.

use crate::sys::clone3::{Cloned, clone3};
use crate::sys::exit_group::exit_now;
use crate::sys::{self, cred, mount, prctl};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, close, fchdir, pipe2, read, write};
use std::ffi::CStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long one child may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// All namespaces that a run makes at once.
const NAMESPACES: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// uid and gid inside.
const INNER_ID: u32 = 1000;

/// Where a new root is put for a moment: in a mount namespace of one's own, so nobody else sees it.
const PLACE: &CStr = c"/proc";

/// The steps that a child can report, by their place in this list; in the order in which they are tried.
const STEPS: [&str; 14] = [
    "clone",
    "setgroups",
    "uid_map",
    "gid_map",
    "setresuid",
    "net",
    "max_user_namespaces",
    "mount",
    "mount_proc",
    "pivot_root",
    "keyctl",
    "landlock",
    "seccomp",
    "pidfd_getfd",
];

/// Head of a report that carries a descriptor's number.
const NUMBER: i32 = -1;

/// One step that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// Its name, as [`diagnose`](super::diagnose()) knows it.
    pub step: &'static str,
    /// 0 when it worked, else the kernel's answer. A child that a signal ended at this step answers `EPERM`.
    pub errno: i32,
}

/// User and other namespaces, id maps, lo, mounts, pivot; also what a run would like but does not need: the limit on nested
/// namespaces, a keyring of its own, a `/proc`. The list ends at the first needed step that failed.
pub fn namespaces() -> Vec<Tried> {
    let is_root = nix::unistd::geteuid().is_root();
    let mut child = match Child::start(NAMESPACES, None, |report| namespace_steps(report, is_root)) {
        Ok(child) => child,
        Err(error) => return vec![tried("clone", errno_of(&error))],
    };
    let mut all = vec![tried("clone", 0)];
    for (step, text) in id_maps(is_root) {
        let errno = child.write_proc(step, &text).map_or_else(|error| errno_of(&error), |()| 0);
        all.push(tried(step, errno));
        if errno != 0 {
            return all;
        }
    }
    child.go();
    all.extend(child.reports(if is_root { "setresuid" } else { "net" }));
    all
}

/// As a run writes them: root maps an id of the policy's range and not its own, and may then drop its groups.
fn id_maps(is_root: bool) -> Vec<(&'static str, String)> {
    if is_root {
        let line = || format!("{INNER_ID} {} 1", super::OUTER_IDS.0);
        return vec![("uid_map", line()), ("gid_map", line())];
    }
    let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
    vec![
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{INNER_ID} {uid} 1")),
        ("gid_map", format!("{INNER_ID} {gid} 1")),
    ]
}

/// In the child: no allocation, raw calls only. Needed steps first, in the order of a run.
fn namespace_steps(report: &Reporter<'_>, is_root: bool) {
    if is_root && !report.raw("setresuid", leave_root()) {
        return;
    }
    if !report.raw("net", sys::netdevice::loopback_up()) {
        return;
    }
    report.nix("max_user_namespaces", forbid_nesting());
    let root = match new_root() {
        Ok(root) => root,
        Err(error) => {
            report.raw("mount", Err(error));
            return;
        }
    };
    report.raw("mount", Ok(()));
    // The kernel asks here whether a fresh /proc would show what the one outside hides.
    report.raw("mount_proc", detached(c"proc").map(drop));
    let pivoted = fchdir(&root).map_err(io::Error::from).and_then(|()| mount::pivot_root_here());
    report.raw("pivot_root", pivoted);
    report.raw("keyctl", sys::keyctl::join_anonymous_session());
}

fn new_root() -> io::Result<OwnedFd> {
    mount::make_all_private()?;
    let root = detached(c"tmpfs")?;
    mount::move_mount(root.as_fd(), libc::AT_FDCWD, PLACE)?;
    Ok(root)
}

/// The change of credentials that a run makes when root started it.
fn leave_root() -> io::Result<()> {
    cred::setgroups_none()?;
    cred::setresgid(INNER_ID)?;
    cred::setresuid(INNER_ID)
}

/// A mount that is nowhere yet.
fn detached(kind: &CStr) -> io::Result<OwnedFd> {
    let fs = mount::fsopen(kind)?;
    mount::fsconfig_create(fs.as_fd())?;
    mount::fsmount(fs.as_fd(), 0)
}

fn forbid_nesting() -> nix::Result<()> {
    let flags = OFlag::O_WRONLY | OFlag::O_CLOEXEC;
    let limit = nix::fcntl::open("/proc/sys/user/max_user_namespaces", flags, nix::sys::stat::Mode::empty())?;
    write(limit, b"0").map(|_| ())
}

/// `no_new_privs` and a Landlock ruleset.
pub fn landlock() -> Vec<Tried> {
    let child = Child::start(0, None, |report| {
        let restricted = prctl::set_no_new_privs().and_then(|()| sys::landlock_abi::restrict_execute());
        report.raw("landlock", restricted);
    });
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return vec![tried("fork", errno_of(&error))],
    };
    child.go();
    child.reports("landlock")
}

/// A filter with a listener, and the listener taken over by its number, as the supervisor does it. `in_userns`: in a user
/// namespace of its own as in a run, which decides whether Yama lets the parent in.
pub fn listener(in_userns: bool) -> Vec<Tried> {
    let flags = if in_userns { libc::CLONE_NEWUSER } else { 0 };
    let mut child = match Child::start(flags, None, listen) {
        Ok(child) => child,
        Err(error) => return vec![tried("fork", errno_of(&error))],
    };
    child.go();
    let Some(number) = child.number() else { return child.reports("seccomp") };
    let taken = sys::pidfd::getfd(child.pidfd.as_fd(), number);
    vec![tried("seccomp", 0), tried("pidfd_getfd", taken.map_or_else(|error| errno_of(&error), |_| 0))]
}

/// In the child: the listener's number, or why there is none.
fn listen(report: &Reporter<'_>) {
    match prctl::set_no_new_privs().and_then(|()| sys::seccomp_probe::listen_to_nothing()) {
        Ok(number) => {
            report.number(number);
            // The parent takes the listener while this process lives, and then ends it.
            report.wait();
        }
        Err(error) => {
            report.raw("seccomp", Err(error));
        }
    }
}

/// A leaf below a delegated group, with the files that a run writes, a process moved into it and out by its death.
/// Nothing of it remains.
pub fn cgroup(dir: &Path) -> Tried {
    let leaf = dir.join(format!("skilljail-doctor-{}", std::process::id()));
    let made = fs::create_dir(&leaf).and_then(|()| use_leaf(&leaf));
    // The kernel frees the leaf a moment after its last process is gone.
    let deadline = Instant::now() + PATIENCE;
    while fs::remove_dir(&leaf).is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY)) {
        if Instant::now() > deadline {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    tried("cgroup", made.map_or_else(|error| errno_of(&error), |()| 0))
}

fn use_leaf(leaf: &Path) -> io::Result<()> {
    for (file, text) in [("memory.max", "max"), ("pids.max", "max")] {
        fs::OpenOptions::new().write(true).open(leaf.join(file))?.write_all(text.as_bytes())?;
    }
    let group = fs::File::open(leaf)?;
    Child::start(0, Some(group.as_fd()), |_| ()).map(drop)
}

fn tried(step: &'static str, errno: i32) -> Tried {
    Tried { step, errno }
}

fn errno_of(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// The child's end: eight bytes a report, the step's place in [`STEPS`] and the errno.
struct Reporter<'a> {
    reports: BorrowedFd<'a>,
    go: BorrowedFd<'a>,
}

impl Reporter<'_> {
    fn raw(&self, step: &str, result: io::Result<()>) -> bool {
        let errno = result.err().map_or(0, |error| errno_of(&error));
        let place = STEPS.iter().position(|name| *name == step).unwrap_or(STEPS.len());
        self.send(i32::try_from(place).unwrap_or(i32::MAX), errno);
        errno == 0
    }

    fn nix(&self, step: &str, result: nix::Result<()>) -> bool {
        self.raw(step, result.map_err(io::Error::from))
    }

    fn number(&self, number: i32) {
        self.send(NUMBER, number);
    }

    fn send(&self, head: i32, value: i32) {
        let mut bytes = [0u8; 8];
        bytes[..4].copy_from_slice(&head.to_ne_bytes());
        bytes[4..].copy_from_slice(&value.to_ne_bytes());
        // A parent that is gone reads nothing; this child dies with it.
        let _ = write(self.reports, &bytes);
    }

    /// Until the parent says so; false at its death.
    fn wait(&self) -> bool {
        read(self.go, &mut [0u8]) == Ok(1)
    }
}

/// A forked child, killed and reaped when dropped.
struct Child {
    pid: Pid,
    pidfd: OwnedFd,
    reports: OwnedFd,
    go: OwnedFd,
    deadline: Instant,
    pending: Option<(i32, i32)>,
    reaped: bool,
}

impl Child {
    /// Forks, as a run does; the child waits for [`Child::go`] before it does its work.
    fn start(
        namespaces: libc::c_int,
        cgroup: Option<BorrowedFd<'_>>,
        work: impl FnOnce(&Reporter<'_>),
    ) -> io::Result<Self> {
        let (reports, reports_child) = pipe2(OFlag::O_CLOEXEC)?;
        let (go_child, go) = pipe2(OFlag::O_CLOEXEC)?;
        let (pid, pidfd) = match clone3(u64::from(namespaces.unsigned_abs()), cgroup)? {
            Cloned::Parent { pid, pidfd } => (Pid::from_raw(pid), pidfd),
            Cloned::Child => {
                // Without its copies of the parent's ends closed, the child would never see its parent's death.
                let _ = (close(go.as_raw_fd()), close(reports.as_raw_fd()));
                let reporter = Reporter { reports: reports_child.as_fd(), go: go_child.as_fd() };
                if reporter.wait() {
                    work(&reporter);
                }
                exit_now(0)
            }
        };
        let deadline = Instant::now() + PATIENCE;
        Ok(Self { pid, pidfd, reports, go, deadline, pending: None, reaped: false })
    }

    fn go(&self) {
        // A child that is dead already has reported nothing, which is told as such.
        let _ = write(&self.go, &[1]);
    }

    fn write_proc(&self, file: &str, text: &str) -> io::Result<()> {
        let path = format!("/proc/{}/{file}", self.pid);
        fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
    }

    /// The next eight bytes; `None` at the end of the child, or of patience.
    fn next(&mut self) -> Option<(i32, i32)> {
        let (mut bytes, mut filled) = ([0u8; 8], 0);
        while filled < bytes.len() {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
            let mut ready = [PollFd::new(self.reports.as_fd(), PollFlags::POLLIN)];
            match poll(&mut ready, timeout) {
                Err(Errno::EINTR) => continue,
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
            match read(&self.reports, &mut bytes[filled..]) {
                Ok(count @ 1..) => filled += count,
                Err(Errno::EINTR) => {}
                Ok(0) | Err(_) => return None,
            }
        }
        let (head, value) = bytes.split_first_chunk()?;
        Some((i32::from_ne_bytes(*head), i32::from_ne_bytes(*value.first_chunk()?)))
    }

    /// The number that the child reported, or `None`, and then its report is still to be had.
    fn number(&mut self) -> Option<i32> {
        let (head, value) = self.next()?;
        if head != NUMBER {
            self.pending = Some((head, value));
            return None;
        }
        Some(value)
    }

    /// All reports until the child's end. One that a signal ended was stopped in the step after its last report, or in `first`.
    fn reports(&mut self, first: &'static str) -> Vec<Tried> {
        let mut all: Vec<Tried> = Vec::new();
        while let Some((place, errno)) = self.pending.take().or_else(|| self.next()) {
            let step = usize::try_from(place).ok().and_then(|place| STEPS.get(place));
            all.extend(step.map(|step| tried(step, errno)));
        }
        let late = Instant::now() >= self.deadline;
        if late || matches!(self.reap(), Ok(WaitStatus::Signaled(..))) {
            let place = all.last().and_then(|last| STEPS.iter().position(|step| *step == last.step));
            let step = place.and_then(|place| STEPS.get(place + 1)).copied().unwrap_or(first);
            all.push(tried(step, if late { libc::ETIMEDOUT } else { libc::EPERM }));
        }
        all
    }

    fn reap(&mut self) -> nix::Result<WaitStatus> {
        self.reaped = true;
        waitpid(self.pid, None)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // A reaped child's pid may belong to somebody else by now.
        if !self.reaped {
            let _ = nix::sys::signal::kill(self.pid, nix::sys::signal::Signal::SIGKILL);
            let _ = self.reap();
        }
    }
}
