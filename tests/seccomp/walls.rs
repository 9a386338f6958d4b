//! What the default filter is for, tried for real; each with its control: the same without a filter works.

use crate::child::{Child, Shared, raw, spawn};
use skilljail::seccomp::bpf::{RET, SockFilter};
use skilljail::seccomp::syscalls::Table;
use skilljail::seccomp::{self, Action, Arch, EXEC_PATH};
use std::sync::atomic::{AtomicI64, Ordering};

const NOTHING: [SockFilter; 1] = [SockFilter { code: RET, jt: 0, jf: 0, k: Action::Allow.ret() }];

fn nr(name: &str) -> u32 {
    Table::builtin()
        .named(name)
        .and_then(|c| c.number(Arch::NATIVE))
        .unwrap_or_else(|| panic!("{name} is not here"))
}

/// What an attack gets: with the filter, and without.
fn try_both(attack: impl Fn() -> i64) -> (i64, i64) {
    let filter = seccomp::shipped("default").unwrap();
    let once = |program: &[SockFilter], listener: bool| {
        let answer = Shared::<AtomicI64>::new(1);
        let child: Child = spawn(program, listener, || {}, || answer[0].store(attack(), Ordering::SeqCst));
        if listener {
            child.answer();
        }
        assert_eq!(child.end(), libc::SIGILL, "the attack came to its end");
        answer[0].load(Ordering::SeqCst)
    };
    (once(filter.program(), true), once(&NOTHING, false))
}

#[track_caller]
fn refused(errno: i32, attack: impl Fn() -> i64) {
    let (with, without) = try_both(attack);
    assert_eq!(with, -i64::from(errno));
    assert!(without >= 0, "control: without the filter it works, but: {without}");
}

const PAGE: u64 = 4096;
const RW: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
const X: u64 = libc::PROT_EXEC as u64;
const ANON: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
const FD: u64 = u64::MAX;

#[test]
fn no_executable_memory_of_ones_own() {
    let (mmap, mprotect) = (nr("mmap"), nr("mprotect"));
    refused(libc::EPERM, || raw(mmap, &[0, PAGE, RW | X, ANON, FD, 0]));
    refused(libc::EPERM, || raw(mmap, &[0, PAGE, X, ANON, FD, 0]));
    refused(libc::EPERM, || {
        let page = raw(mmap, &[0, PAGE, RW, ANON, FD, 0]);
        raw(mprotect, &[page as u64, PAGE, X | 1, 0, 0, 0])
    });
}

#[test]
fn nothing_can_be_mapped_where_the_path_of_the_exec_was() {
    let (mmap, mremap) = (nr("mmap"), nr("mremap"));
    let fixed = libc::MAP_FIXED as u64;
    refused(libc::EPERM, || raw(mmap, &[EXEC_PATH, PAGE, RW, ANON | fixed, FD, 0]));
    refused(libc::EPERM, || raw(mmap, &[EXEC_PATH, PAGE, RW, ANON, FD, 0]));
    refused(libc::EPERM, || raw(mmap, &[EXEC_PATH - PAGE, 3 * PAGE, RW, ANON, FD, 0]));
    // A stack just above would grow down to it.
    refused(libc::EPERM, || {
        raw(mmap, &[0x20_0000, PAGE, RW, ANON | fixed | libc::MAP_GROWSDOWN as u64, FD, 0])
    });
    refused(libc::EPERM, || {
        let page = raw(mmap, &[0, PAGE, RW, ANON, FD, 0]) as u64;
        let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as u64;
        raw(mremap, &[page, PAGE, PAGE, flags, EXEC_PATH, 0])
    });
    // Without FIXED the address is a hint, and the kernel takes it.
    let hint = || {
        let page = raw(mmap, &[0, PAGE, RW, ANON, FD, 0]) as u64;
        let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_DONTUNMAP) as u64;
        raw(mremap, &[page, PAGE, PAGE, flags, EXEC_PATH, 0])
    };
    assert_eq!(try_both(hint), (-i64::from(libc::EPERM), EXEC_PATH.cast_signed()));
}

#[test]
fn no_process_but_threads() {
    let (clone, exit) = (nr("clone"), nr("exit_group"));
    refused(libc::EPERM, || {
        let pid = raw(clone, &[libc::SIGCHLD as u64, 0, 0, 0, 0, 0]);
        if pid == 0 {
            raw(exit, &[0; 6]);
        }
        pid
    });
    let clone3 = nr("clone3");
    let (with, without) = try_both(|| raw(clone3, &[0; 6]));
    assert_eq!(with, -i64::from(libc::ENOSYS));
    assert_ne!(without, with, "control: this kernel has clone3");
}

#[test]
fn no_socket_that_reaches_anything() {
    let (socket, pair) = (nr("socket"), nr("socketpair"));
    let stream = libc::SOCK_STREAM as u64;
    refused(libc::EPERM, || raw(socket, &[libc::AF_INET as u64, stream, 0, 0, 0, 0]));
    refused(libc::EPERM, || raw(socket, &[libc::AF_UNIX as u64, stream, 0, 0, 0, 0]));
    // What the C library asks for day by day is not written down.
    let nscd = stream | (libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) as u64;
    refused(libc::EACCES, || raw(socket, &[libc::AF_UNIX as u64, nscd, 0, 0, 0, 0]));
    // The kernel throws the upper half of an int away, so it must not help either.
    refused(libc::EACCES, || raw(socket, &[libc::AF_UNIX as u64 | 1 << 32, nscd, 0, 0, 0, 0]));
    let ends = Shared::<AtomicI64>::new(1);
    let room = ends.as_ptr() as u64;
    let (with, without) = try_both(|| raw(pair, &[libc::AF_UNIX as u64, stream, 0, room, 0, 0]));
    assert_eq!((with, without), (0, 0), "a pair within the process is allowed");
    let setsockopt = nr("setsockopt");
    refused(libc::EPERM, || {
        raw(pair, &[libc::AF_UNIX as u64, stream, 0, room, 0, 0]);
        let fd = ends[0].load(Ordering::SeqCst) as u32;
        let size = 1u32 << 20;
        let option = libc::SO_SNDBUF as u64;
        raw(setsockopt, &[u64::from(fd), libc::SOL_SOCKET as u64, option, (&raw const size) as u64, 4, 0])
    });
}

#[test]
fn no_channel_to_other_runs_and_no_memory_past_the_limits() {
    let (memfd, inotify, mincore) = (nr("memfd_create"), nr("inotify_init1"), nr("mincore"));
    let name = c"x".as_ptr() as u64;
    refused(libc::EPERM, || raw(memfd, &[name, 0, 0, 0, 0, 0]));
    refused(libc::EPERM, || raw(inotify, &[0; 6]));
    let mmap = nr("mmap");
    let vec = Shared::<AtomicI64>::new(1);
    let vec = vec.as_ptr() as u64;
    refused(libc::EPERM, || {
        let page = raw(mmap, &[0, PAGE, RW, ANON, FD, 0]) as u64;
        raw(mincore, &[page, PAGE, vec, 0, 0, 0])
    });
    let (pipe, fcntl) = (nr("pipe2"), nr("fcntl"));
    let ends = Shared::<AtomicI64>::new(1);
    let room = ends.as_ptr() as u64;
    refused(libc::EPERM, || {
        raw(pipe, &[room, 0, 0, 0, 0, 0]);
        let fd = ends[0].load(Ordering::SeqCst) as u32;
        raw(fcntl, &[u64::from(fd), libc::F_SETPIPE_SZ as u64, PAGE, 0, 0, 0])
    });
    let flock = nr("flock");
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file) as u64;
    refused(libc::EPERM, || raw(flock, &[fd, (libc::LOCK_SH | libc::LOCK_NB) as u64, 0, 0, 0, 0]));
}

#[test]
fn sigsys_cannot_be_sent() {
    let (kill, getpid, sigprocmask) = (nr("kill"), nr("getpid"), nr("rt_sigprocmask"));
    let all = u64::MAX;
    refused(libc::EPERM, || {
        // Blocked, so that the control survives it.
        raw(sigprocmask, &[libc::SIG_BLOCK as u64, (&raw const all) as u64, 0, 8, 0, 0]);
        raw(kill, &[raw(getpid, &[0; 6]) as u64, libc::SIGSYS as u64, 0, 0, 0, 0])
    });
    let (with, _) = try_both(|| raw(kill, &[raw(getpid, &[0; 6]) as u64, 0, 0, 0, 0, 0]));
    assert_eq!(with, 0, "other signals to oneself can");
}
