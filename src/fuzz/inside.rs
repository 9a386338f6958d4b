//! The interpreter of a program, in the jail: it makes the calls and counts what came back.

use super::program::{Arg, Call, Program};
use crate::seccomp::{Arch, syscalls};
use crate::sys::raw_call::{Entry, Pages, ignore_signals, interrupt_by_urg, raw};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::IntoRawFd as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

/// How long threads may take that wait in a call.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// How long a call may wait before it is interrupted.
const TICK: Duration = Duration::from_millis(2);
/// Bytes of each kind of pages.
const PAGES: usize = 512 << 10;
/// What stands for a call that has not come back.
const WAITING: u64 = u64::MAX;

/// What a call counts as that had not come back when the program ended: no errno is so large.
pub const NEVER_BACK: u64 = 4_096;

/// Calls that give a descriptor.
const GIVE: &[&str] = &[
    "openat",
    "dup",
    "fcntl",
    "eventfd2",
    "epoll_create1",
    "timerfd_create",
    "memfd_create",
    "socket",
    "open_tree",
    "fsopen",
    "pidfd_open",
    "inotify_init1",
    "userfaultfd",
    "accept4",
];

struct Ground {
    data: Pages,
    scratch: Pages,
    fds: RwLock<Vec<u64>>,
    give: Vec<u32>,
    own: u64,
    gettid: u32,
    tgkill: u32,
}

impl Ground {
    fn new(program: &Program) -> io::Result<Self> {
        let data = Pages::map(PAGES)?;
        for (offset, bytes) in &program.data {
            data.write(*offset, bytes);
        }
        let number = |name: &&str| {
            let call = syscalls::Table::builtin().named(name)?;
            call.number(Arch::ALL.into_iter().find(|arch| arch.name() == std::env::consts::ARCH)?)
        };
        Ok(Self {
            data,
            scratch: Pages::map(PAGES)?,
            fds: RwLock::new(descriptors()),
            give: GIVE.iter().filter_map(number).collect(),
            own: u64::from(std::process::id()),
            gettid: number(&"gettid").unwrap_or_default(),
            tgkill: number(&"tgkill").unwrap_or_default(),
        })
    }

    fn word(&self, arg: Arg) -> u64 {
        match arg {
            Arg::Word(word) => word,
            Arg::Data(offset) => self.data.address(offset),
            Arg::Scratch(offset) => self.scratch.address(offset),
            Arg::Own => self.own,
            Arg::Fd(number) => {
                let Ok(fds) = self.fds.read() else { return 3 };
                usize::try_from(number).ok().and_then(|n| fds.get(n % fds.len().max(1)).copied()).unwrap_or(3)
            }
        }
    }

    /// Makes the call; the errno, or 0.
    fn make(&self, call: &Call) -> u64 {
        let result = raw(call.entry, call.nr, &call.args.map(|arg| self.word(arg)));
        if (3..1024).contains(&result)
            && self.give.contains(&call.nr)
            && let Ok(mut fds) = self.fds.write()
        {
            fds.push(result.unsigned_abs());
        }
        if (-4095..0).contains(&result) { result.unsigned_abs() } else { 0 }
    }
}

/// How many calls of a thread have come back.
fn done(results: &[AtomicU64]) -> usize {
    results.partition_point(|result| result.load(Ordering::Relaxed) != WAITING)
}

/// A few descriptors of each kind, none of which makes a reader wait. What cannot be had is left out.
fn descriptors() -> Vec<u64> {
    use nix::fcntl::OFlag;
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
    let mut fds = Vec::new();
    let mut hold = |fd: i32| fds.extend(u64::try_from(fd));
    for path in ["/workdir", "/", "/dev/zero", "/dev/null", "/dev/urandom"] {
        if let Ok(file) = File::open(path) {
            hold(file.into_raw_fd());
        }
    }
    let mut options = OpenOptions::new();
    if let Ok(file) = options.create(true).truncate(false).read(true).write(true).open("/workdir/f") {
        hold(file.into_raw_fd());
    }
    if let Ok((reading, writing)) = nix::unistd::pipe2(OFlag::O_NONBLOCK) {
        hold(reading.into_raw_fd());
        hold(writing.into_raw_fd());
    }
    for kind in [SockType::Stream, SockType::Datagram, SockType::SeqPacket] {
        if let Ok((one, other)) = socketpair(AddressFamily::Unix, kind, None, SockFlag::SOCK_NONBLOCK) {
            hold(one.into_raw_fd());
            hold(other.into_raw_fd());
        }
    }
    fds
}

/// Runs the program of the text. Says on `out` how often each call came back with which errno: `NUMBER ERRNO COUNT` in
/// each line. The calls at the end come after that, and end the process.
///
/// # Errors
/// The text is no program, or there is no memory.
pub fn run(text: &str, out: &mut dyn io::Write) -> io::Result<()> {
    let program: Program = text.parse().map_err(io::Error::other)?;
    ignore_signals();
    interrupt_by_urg();
    let ground = Arc::new(Ground::new(&program)?);
    let mut all = Vec::new();
    for calls in program.threads {
        let calls = Arc::new(calls);
        let results: Arc<Vec<AtomicU64>> = Arc::new(calls.iter().map(|_| AtomicU64::new(WAITING)).collect());
        let tid = Arc::new(AtomicU64::new(0));
        let work = {
            let (ground, calls, results, tid) = (ground.clone(), calls.clone(), results.clone(), tid.clone());
            move || {
                let own = raw(Entry::Native, ground.gettid, &[0; 6]);
                tid.store(own.unsigned_abs(), Ordering::Relaxed);
                for (call, result) in calls.iter().zip(results.iter()) {
                    result.store(ground.make(call), Ordering::Relaxed);
                }
            }
        };
        // Where a policy allows one thread only, they run one after the other.
        let handle = std::thread::Builder::new().stack_size(256 << 10).spawn(work.clone());
        let handle = handle.map_or_else(
            |_| {
                work();
                None
            },
            Some,
        );
        all.push((calls, results, handle, tid));
    }
    let deadline = Instant::now() + PATIENCE;
    let mut made = Vec::new();
    while Instant::now() < deadline
        && all.iter().any(|(_, _, h, _)| h.as_ref().is_some_and(|h| !h.is_finished()))
    {
        std::thread::sleep(TICK);
        let now: Vec<usize> = all.iter().map(|(_, results, _, _)| done(results)).collect();
        for (at, (_, _, handle, tid)) in all.iter().enumerate() {
            // Where it was a tick ago: it waits.
            if made.get(at) == now.get(at) && handle.as_ref().is_some_and(|h| !h.is_finished()) {
                let signal = u64::from(libc::SIGURG.unsigned_abs());
                raw(
                    Entry::Native,
                    ground.tgkill,
                    &[ground.own, tid.load(Ordering::Relaxed), signal, 0, 0, 0],
                );
            }
        }
        made = now;
    }
    let mut counts = BTreeMap::<(u32, u64), u64>::new();
    for (calls, results, _, _) in &all {
        for (call, result) in calls.iter().zip(results.iter()) {
            let result = result.load(Ordering::Relaxed);
            // The first of a thread that has not come back is what it waits in; those after it were not made.
            let waits = result == WAITING;
            *counts.entry((call.nr, if waits { NEVER_BACK } else { result })).or_default() += 1;
            if waits {
                break;
            }
        }
    }
    let mut said = String::new();
    for ((nr, errno), count) in counts {
        let _ = writeln!(said, "{nr} {errno} {count}");
    }
    out.write_all(said.as_bytes())?;
    out.flush()?;
    for call in &program.last {
        ground.make(call);
    }
    Ok(())
}
