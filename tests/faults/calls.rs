//! What a call may fail with by its man page, and which failures a run survives.

use super::tracer::{Fault, Point, Role};
use nix::errno::Errno;
use serde_json::Value;
use std::collections::BTreeMap;

/// How a call fails, or why it is not made to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Failure {
    With(&'static [Errno]),
    /// The call does its work and then says this.
    Lies(&'static [Errno]),
    /// By its man page it cannot.
    Never,
    /// The C library's, which aborts or does without: before the first line of the program, or for memory.
    Library,
}

use Failure::{Library, Lies, Never, With};
use Role::{Init, Payload, Supervisor};

/// A call's name, for messages, and what becomes of it. A call that is not here fails the test: somebody must say.
pub(crate) fn of(call: i64, meaning: u64) -> Option<(&'static str, Failure)> {
    Some(match call {
        libc::SYS_bind => ("bind", With(&[Errno::EADDRINUSE, Errno::ENOMEM])),
        libc::SYS_capget => ("capget", With(&[Errno::EPERM])),
        libc::SYS_capset => ("capset", With(&[Errno::EPERM])),
        libc::SYS_chdir => ("chdir", With(&[Errno::EACCES])),
        libc::SYS_clock_getres => ("clock_getres", With(&[Errno::EINVAL])),
        libc::SYS_clock_gettime => ("clock_gettime", With(&[Errno::EINVAL])),
        libc::SYS_clone3 => ("clone3", With(&[Errno::EAGAIN, Errno::EPERM])),
        libc::SYS_close => ("close", Lies(&[Errno::EIO])),
        libc::SYS_close_range => ("close_range", With(&[Errno::ENOMEM])),
        libc::SYS_connect => ("connect", With(&[Errno::EAGAIN])),
        libc::SYS_dup3 => ("dup3", With(&[Errno::EMFILE])),
        libc::SYS_epoll_create1 => ("epoll_create1", With(&[Errno::EMFILE])),
        libc::SYS_epoll_ctl => ("epoll_ctl", With(&[Errno::ENOSPC])),
        libc::SYS_epoll_wait => ("epoll_wait", With(&[Errno::EINTR, Errno::EINVAL])),
        libc::SYS_getsockopt => ("getsockopt", With(&[Errno::ENOPROTOOPT])),
        libc::SYS_execveat => ("execveat", With(&[Errno::ENOENT, Errno::EMFILE])),
        libc::SYS_fchdir => ("fchdir", With(&[Errno::EACCES])),
        libc::SYS_fcntl => ("fcntl", With(&[Errno::EMFILE])),
        libc::SYS_fsconfig => ("fsconfig", With(&[Errno::EINVAL])),
        libc::SYS_fsmount => ("fsmount", With(&[Errno::EMFILE])),
        libc::SYS_fsopen => ("fsopen", With(&[Errno::ENODEV])),
        libc::SYS_fstatfs => ("fstatfs", With(&[Errno::EIO])),
        libc::SYS_ftruncate => ("ftruncate", With(&[Errno::EIO])),
        libc::SYS_getcwd => ("getcwd", With(&[Errno::ENOENT])),
        libc::SYS_getdents64 => ("getdents64", With(&[Errno::EINVAL])),
        libc::SYS_getrandom => ("getrandom", Library),
        libc::SYS_getsockname => ("getsockname", With(&[Errno::ENOBUFS])),
        libc::SYS_ioctl => ("ioctl", With(&[Errno::ENOTTY])),
        libc::SYS_keyctl => ("keyctl", With(&[Errno::EDQUOT, Errno::ENOMEM])),
        libc::SYS_landlock_add_rule => ("landlock_add_rule", With(&[Errno::ENOMEM])),
        libc::SYS_landlock_create_ruleset => {
            ("landlock_create_ruleset", With(&[Errno::EOPNOTSUPP, Errno::ENOMEM]))
        }
        libc::SYS_landlock_restrict_self => ("landlock_restrict_self", With(&[Errno::E2BIG])),
        libc::SYS_listen => ("listen", With(&[Errno::EADDRINUSE])),
        libc::SYS_lseek => ("lseek", With(&[Errno::EINVAL])),
        libc::SYS_mount_setattr => ("mount_setattr", With(&[Errno::EINVAL, Errno::EPERM])),
        libc::SYS_move_mount => ("move_mount", With(&[Errno::EINVAL])),
        libc::SYS_newfstatat => ("newfstatat", With(&[Errno::ENOMEM])),
        libc::SYS_open_tree => ("open_tree", With(&[Errno::EMFILE])),
        libc::SYS_openat => ("openat", With(&[Errno::EMFILE, Errno::EACCES])),
        libc::SYS_openat2 => ("openat2", With(&[Errno::EAGAIN, Errno::EMFILE])),
        libc::SYS_pidfd_getfd => ("pidfd_getfd", With(&[Errno::EPERM])),
        libc::SYS_pidfd_send_signal => ("pidfd_send_signal", With(&[Errno::EPERM])),
        libc::SYS_pipe2 => ("pipe2", With(&[Errno::EMFILE])),
        libc::SYS_pivot_root => ("pivot_root", With(&[Errno::EINVAL])),
        libc::SYS_prctl => (meaning_of(meaning), With(&[Errno::EINVAL, Errno::EPERM])),
        libc::SYS_prlimit64 => ("prlimit64", With(&[Errno::EPERM])),
        libc::SYS_read => ("read", With(&[Errno::EIO, Errno::EINTR])),
        libc::SYS_recvfrom => ("recvfrom", With(&[Errno::ENOMEM])),
        libc::SYS_recvmsg => ("recvmsg", With(&[Errno::ENOMEM, Errno::EINTR])),
        libc::SYS_rt_sigaction => ("rt_sigaction", With(&[Errno::EINVAL])),
        libc::SYS_rt_sigprocmask => ("rt_sigprocmask", With(&[Errno::EINVAL])),
        libc::SYS_sched_getaffinity => ("sched_getaffinity", With(&[Errno::EINVAL])),
        libc::SYS_sched_getscheduler => ("sched_getscheduler", With(&[Errno::EINVAL])),
        libc::SYS_seccomp => ("seccomp", With(&[Errno::EINVAL, Errno::ENOMEM])),
        libc::SYS_sendmsg => ("sendmsg", With(&[Errno::ENOBUFS])),
        libc::SYS_sendto => ("sendto", With(&[Errno::ENOBUFS])),
        libc::SYS_setgroups => ("setgroups", With(&[Errno::EPERM])),
        libc::SYS_sethostname => ("sethostname", With(&[Errno::EPERM])),
        libc::SYS_setresgid => ("setresgid", With(&[Errno::EPERM])),
        libc::SYS_setresuid => ("setresuid", With(&[Errno::EAGAIN])),
        libc::SYS_setsid => ("setsid", With(&[Errno::EPERM])),
        libc::SYS_setsockopt => ("setsockopt", With(&[Errno::ENOPROTOOPT])),
        libc::SYS_signalfd4 => ("signalfd4", With(&[Errno::EMFILE])),
        libc::SYS_socket => ("socket", With(&[Errno::EMFILE])),
        libc::SYS_socketpair => ("socketpair", With(&[Errno::EMFILE])),
        libc::SYS_statx => ("statx", With(&[Errno::ENOMEM])),
        libc::SYS_symlinkat => ("symlinkat", With(&[Errno::ENOSPC])),
        libc::SYS_timerfd_create => ("timerfd_create", With(&[Errno::EMFILE])),
        libc::SYS_umount2 => ("umount2", With(&[Errno::EBUSY])),
        libc::SYS_uname => ("uname", With(&[Errno::EFAULT])),
        libc::SYS_unlinkat => ("unlinkat", With(&[Errno::EBUSY])),
        libc::SYS_wait4 => ("wait4", With(&[Errno::EINTR])),
        libc::SYS_write => ("write", With(&[Errno::EIO, Errno::EINTR])),
        libc::SYS_mkdir | libc::SYS_mkdirat => ("mkdir", With(&[Errno::ENOSPC])),
        libc::SYS_poll => ("poll", With(&[Errno::ENOMEM, Errno::EINTR])),
        libc::SYS_readlink => ("readlink", With(&[Errno::EIO])),
        libc::SYS_exit_group => ("exit_group", Never),
        libc::SYS_getegid | libc::SYS_geteuid | libc::SYS_getgid | libc::SYS_getuid => ("getuid", Never),
        libc::SYS_getpid | libc::SYS_gettid => ("getpid", Never),
        libc::SYS_umask => ("umask", Never),
        libc::SYS_access => ("access", Library),
        libc::SYS_arch_prctl => ("arch_prctl", Library),
        libc::SYS_brk => ("brk", Library),
        libc::SYS_execve => ("execve", Library),
        libc::SYS_futex => ("futex", Library),
        libc::SYS_madvise => ("madvise", Library),
        libc::SYS_mmap => ("mmap", Library),
        libc::SYS_mprotect => ("mprotect", Library),
        libc::SYS_munmap => ("munmap", Library),
        libc::SYS_pread64 => ("pread64", Library),
        libc::SYS_rseq => ("rseq", Library),
        libc::SYS_set_robust_list => ("set_robust_list", Library),
        libc::SYS_set_tid_address => ("set_tid_address", Library),
        libc::SYS_sigaltstack => ("sigaltstack", Library),
        _ => return None,
    })
}

fn meaning_of(option: u64) -> &'static str {
    match i32::try_from(option) {
        Ok(libc::PR_SET_PDEATHSIG) => "prctl(PR_SET_PDEATHSIG)",
        Ok(libc::PR_SET_DUMPABLE) => "prctl(PR_SET_DUMPABLE)",
        Ok(libc::PR_GET_SECCOMP) => "prctl(PR_GET_SECCOMP)",
        Ok(libc::PR_CAPBSET_READ) => "prctl(PR_CAPBSET_READ)",
        Ok(libc::PR_CAPBSET_DROP) => "prctl(PR_CAPBSET_DROP)",
        Ok(libc::PR_SET_SECUREBITS) => "prctl(PR_SET_SECUREBITS)",
        Ok(libc::PR_SET_NO_NEW_PRIVS) => "prctl(PR_SET_NO_NEW_PRIVS)",
        Ok(libc::PR_GET_NO_NEW_PRIVS) => "prctl(PR_GET_NO_NEW_PRIVS)",
        Ok(libc::PR_CAP_AMBIENT) => "prctl(PR_CAP_AMBIENT)",
        _ => "prctl",
    }
}

/// Every fault of a point; one in the language's own start can only be the last.
pub(crate) fn faults(point: &Point, languages_own: bool) -> Vec<Fault> {
    let (_, failure) = of(point.call, point.meaning).unwrap_or(("", Never));
    let mut faults = vec![Fault::Dies];
    match failure {
        _ if languages_own => {}
        With(errnos) => faults.extend(errnos.iter().copied().map(Fault::Fails)),
        Lies(errnos) => faults.extend(errnos.iter().copied().map(Fault::Lies)),
        Never | Library => {}
    }
    faults
}

/// The name of a point's call.
pub(crate) fn name(point: &Point) -> &'static str {
    of(point.call, point.meaning).map_or("?", |(name, _)| name)
}

/// Details in which a run says that it goes without a measure beside a wall, or without an address to ask.
const TOLD: [(&str, &str); 5] = [
    ("idmap", "no_nested_userns_by_sysctl"),
    ("privs", "own_keyring"),
    ("net", "ipv6"),
    ("net", "tap"),
    ("net", "nameservers"),
];

/// The layers of a document without those.
pub(crate) fn walls_of(document: &Value) -> Value {
    let mut layers = document["layers"].clone();
    for layer in layers.as_array_mut().into_iter().flatten() {
        for (name, detail) in TOLD {
            if layer["name"] == name
                && let Some(details) = layer["details"].as_object_mut()
            {
                details.remove(detail);
            }
        }
    }
    layers
}

/// Where runs went on as if nothing had failed, in the very same jail, and how often.
pub(crate) type Survived = BTreeMap<(Role, &'static str, String), Vec<usize>>;

/// Why a failed call may leave a run as it is.
#[rustfmt::skip]
const SURVIVED: &[(Role, &str, &str, &str)] = &[
    (Supervisor, "bind", "EADDRINUSE", "another run has this identity: the next one is tried"),
    (Supervisor, "capget", "EPERM", "the caller's capabilities are for hints"),
    (Supervisor, "clock_gettime", "EINVAL", "the clock of cpu time is read again at the next wait, and RLIMIT_CPU is behind it"),
    (Supervisor, "close", "EIO", "the descriptor is closed whatever close says"),
    (Supervisor, "epoll_wait", "EINTR", "waited again"),
    (Supervisor, "fcntl", "EMFILE", "the program's descriptor gets a lower number until it is moved; a directory's flags are not needed"),
    (Supervisor, "fstatfs", "EIO", "how full the workdir was is told only"),
    (Supervisor, "getsockopt", "ENOPROTOOPT", "what a socket of the jail's had to say is told only"),
    (Supervisor, "ioctl", "ENOTTY", "the answer of what is no terminal"),
    (Supervisor, "lseek", "EINVAL", "a directory that was read to its end is not read again"),
    (Supervisor, "openat", "EACCES", "whether a warm script waits is looked at again"),
    (Supervisor, "openat", "EMFILE", "whether a warm script waits is looked at again"),
    (Supervisor, "openat2", "EAGAIN", "asked again"),
    (Supervisor, "pidfd_send_signal", "EPERM", "init is dead already, and its end is waited for"),
    (Supervisor, "poll", "EINTR", "waited again"),
    (Supervisor, "poll", "ENOMEM", "after the kill: wait4 is behind it"),
    (Supervisor, "prctl(PR_CAPBSET_READ)", "EINVAL", "what the caller may is for hints"),
    (Supervisor, "prctl(PR_CAPBSET_READ)", "EPERM", "what the caller may is for hints"),
    (Supervisor, "prctl(PR_GET_NO_NEW_PRIVS)", "EINVAL", "what the caller may is for hints"),
    (Supervisor, "prctl(PR_GET_NO_NEW_PRIVS)", "EPERM", "what the caller may is for hints"),
    (Supervisor, "prctl(PR_GET_SECCOMP)", "EINVAL", "what the caller may is for hints"),
    (Supervisor, "prctl(PR_GET_SECCOMP)", "EPERM", "what the caller may is for hints"),
    (Supervisor, "prlimit64", "EPERM", "the caller's own limits: the child sets its own, and is refused where that fails"),
    (Supervisor, "read", "EINTR", "read again"),
    (Supervisor, "read", "EIO", "after the run, or whether a warm script waits: looked at again"),
    (Supervisor, "readlink", "EIO", "whether a warm script waits is looked at again"),
    (Supervisor, "recvfrom", "ENOMEM", "read again at the next turn"),
    (Supervisor, "rt_sigprocmask", "EINVAL", "the caller's mask, given back before the end"),
    (Supervisor, "sched_getaffinity", "EINVAL", "how soon cpu time can be used up: counted as on one processor"),
    (Supervisor, "seccomp", "EINVAL", "what the kernel has is for hints: set-up tries for itself"),
    (Supervisor, "seccomp", "ENOMEM", "what the kernel has is for hints: set-up tries for itself"),
    (Supervisor, "statx", "ENOMEM", "for hints, and how large a buffer to begin with"),
    (Supervisor, "uname", "EFAULT", "the kernel's name is for hints"),
    (Supervisor, "wait4", "EINTR", "waited again"),
    (Supervisor, "write", "EINTR", "written again"),
    (Init, "close", "EIO", "the descriptor is closed whatever close says"),
    (Init, "keyctl", "EDQUOT", "told as own_keyring; the filter knows no keyctl"),
    (Init, "keyctl", "ENOMEM", "told as own_keyring; the filter knows no keyctl"),
    (Init, "openat", "EACCES", "told as no_nested_userns_by_sysctl; the filter refuses them"),
    (Init, "openat", "EMFILE", "told as no_nested_userns_by_sysctl; the filter refuses them"),
    (Init, "write", "EIO", "told as no_nested_userns_by_sysctl; the filter refuses them"),
    (Init, "prctl(PR_CAPBSET_DROP)", "EINVAL", "the true answer behind the last capability"),
    (Init, "prctl(PR_CAPBSET_READ)", "EINVAL", "the true answer behind the last capability"),
    (Init, "bind", "EADDRINUSE", "told as tap"),
    (Init, "bind", "ENOMEM", "told as tap"),
    (Init, "socket", "EMFILE", "told as tap"),
    (Init, "setsockopt", "ENOPROTOOPT", "told as tap"),
    (Init, "sendto", "ENOBUFS", "told as ipv6"),
    (Init, "recvfrom", "ENOMEM", "told as ipv6"),
    (Init, "read", "EINTR", "read again"),
    (Init, "wait4", "EINTR", "waited again"),
    (Init, "write", "EINTR", "written again"),
    (Payload, "close", "EIO", "the descriptor is closed whatever close says"),
    (Payload, "read", "EINTR", "read again"),
    (Payload, "write", "EINTR", "written again"),
];

/// Nothing else is survived than what is known. What is known need not come up: a warm script that is ready at once is looked at
/// once.
pub(crate) fn assert_known(survived: &Survived) {
    let strangers: Vec<_> = survived
        .iter()
        .filter(|((role, call, errno), _)| {
            !SURVIVED.iter().any(|(r, c, e, _)| (r, c, *e) == (role, call, errno.as_str()))
        })
        .collect();
    assert!(strangers.is_empty(), "runs went on after these failed: {strangers:#?}");
}
