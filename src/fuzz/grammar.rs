//! What programs consist of: every call of the table with arguments of the kind that its parameters' names say, numbers
//! that no kernel has, and paths, addresses and structures that lead to canaries.

use super::program::{Arg, Call, Program};
use crate::seccomp::Arch;
use crate::seccomp::syscalls::{Syscall, Table};
use crate::sys::raw_call::Entry;

/// Calls of a thread; with all threads below the number of refusals after which a run is killed.
const CALLS: usize = 1_000;
/// Threads of a program.
const THREADS: usize = 4;
/// Bytes of a slot in the data pages.
const SLOT: usize = 256;
/// Where buffers for the kernel's answers begin: after the slots that hold something.
const BUFFERS: u64 = 64 << 10;

/// Calls that would end, stop or break the interpreter instead of attacking the jail. `uprobe` and `uretprobe` pass every
/// filter by the kernel's own rule (since 6.14), and end whoever calls them from elsewhere than a probe by SIGILL.
const NEVER: &[&str] = &[
    "exit",
    "exit_group",
    "rt_sigreturn",
    "pause",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "sigaltstack",
    "brk",
    "vfork",
    "rseq",
    "set_robust_list",
    "set_tid_address",
    "rt_sigaction",
    "rt_sigprocmask",
    "restart_syscall",
    "uprobe",
    "uretprobe",
];

/// Calls that the shipped filters answer by more than a refusal: more than half of all are of these.
const FAVOURED: &[&str] = &[
    "read",
    "write",
    "readv",
    "writev",
    "pread64",
    "pwrite64",
    "preadv",
    "pwritev",
    "preadv2",
    "pwritev2",
    "openat",
    "close",
    "dup",
    "dup3",
    "lseek",
    "fstat",
    "newfstatat",
    "statx",
    "faccessat",
    "faccessat2",
    "statfs",
    "fstatfs",
    "getdents64",
    "getcwd",
    "chdir",
    "fchdir",
    "readlinkat",
    "mkdirat",
    "renameat",
    "renameat2",
    "linkat",
    "symlinkat",
    "unlinkat",
    "truncate",
    "ftruncate",
    "fallocate",
    "fsync",
    "fdatasync",
    "utimensat",
    "sendfile",
    "copy_file_range",
    "fchmod",
    "fchmodat",
    "fcntl",
    "ioctl",
    "fadvise64",
    "epoll_create1",
    "epoll_ctl",
    "eventfd2",
    "pipe2",
    "timerfd_create",
    "timerfd_settime",
    "timerfd_gettime",
    "socketpair",
    "setsockopt",
    "getsockopt",
    "sendto",
    "recvfrom",
    "shutdown",
    "getsockname",
    "getpeername",
    "mmap",
    "munmap",
    "mprotect",
    "mremap",
    "madvise",
    "msync",
    "kill",
    "tkill",
    "tgkill",
    "rt_sigqueueinfo",
    "getpid",
    "getpriority",
    "sched_getaffinity",
    "prlimit64",
    "prctl",
    "clock_gettime",
    "futex",
    "getrandom",
    "uname",
    "sysinfo",
    "umask",
    "wait4",
    "waitid",
    "execveat",
    "clone",
    "close_range",
    "get_mempolicy",
    "mbind",
];

/// Canaries that a program aims at.
#[derive(Debug, Clone, Default)]
pub struct Targets {
    /// Paths of the host's.
    pub paths: Vec<String>,
    /// A process of the host's.
    pub process: u64,
    /// A TCP port.
    pub port: u16,
    /// Abstract names.
    pub names: Vec<String>,
}

/// A small generator of numbers (splitmix64): the same everywhere, for ever.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Of a seed and a batch.
    pub fn new(seed: u64, batch: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ batch.rotate_left(32))
    }

    /// The next number.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One below `most`.
    pub fn below(&mut self, most: u64) -> u64 {
        self.word() % most.max(1)
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T], otherwise: T) -> T {
        let at = usize::try_from(self.below(from.len() as u64)).unwrap_or(0);
        from.get(at).copied().unwrap_or(otherwise)
    }
}

/// The program of a batch.
pub fn program(seed: u64, batch: u64, targets: &Targets) -> Program {
    let mut random = Random::new(seed, batch);
    let mut generator = Generator::new(targets);
    let thread =
        |generator: &mut Generator, random: &mut Random| (0..CALLS).map(|_| generator.call(random)).collect();
    let threads = (0..THREADS).map(|_| thread(&mut generator, &mut random)).collect();
    let last = if cfg!(target_arch = "x86_64") {
        let entry = random.pick(&[Entry::X32, Entry::Int80], Entry::X32);
        let nr = u32::try_from(random.below(460)).unwrap_or(0);
        vec![Call { entry, nr, args: std::array::from_fn(|_| Arg::Word(random.below(4))) }]
    } else {
        Vec::new()
    };
    Program { threads, last, data: generator.data }
}

struct Generator {
    calls: Vec<(&'static Syscall, u32)>,
    favoured: Vec<(&'static Syscall, u32)>,
    data: Vec<(usize, Vec<u8>)>,
    paths: u64,
    process: u64,
}

impl Generator {
    fn new(targets: &Targets) -> Self {
        let arch =
            Arch::ALL.into_iter().find(|arch| arch.name() == std::env::consts::ARCH).unwrap_or(Arch::X86_64);
        let known = Table::builtin().calls().iter();
        let calls: Vec<_> = known
            .filter(|call| !NEVER.contains(&call.name.as_str()))
            .filter_map(|call| Some((call, call.number(arch)?)))
            .collect();
        let favoured =
            calls.iter().copied().filter(|(call, _)| FAVOURED.contains(&call.name.as_str())).collect();
        let (data, paths) = pages(targets);
        Self { calls, favoured, data, paths, process: targets.process }
    }

    fn call(&mut self, random: &mut Random) -> Call {
        let entry = Entry::Native;
        if random.below(50) == 0 {
            // A number that nobody has given out, or a large one.
            let nr = random.pick(&[470, 500, 511, 600, 1000, 1023, 0x0fff_ffff, 0x3fff_ffff], 1000);
            let nr = nr + u32::try_from(random.below(8)).unwrap_or(0);
            return Call { entry, nr: nr & 0x3fff_ffff, args: std::array::from_fn(|_| self.any(random)) };
        }
        let from = if random.below(100) < 65 { &self.favoured } else { &self.calls };
        let at = usize::try_from(random.below(from.len() as u64)).unwrap_or(0);
        let Some((call, nr)) = from.get(at).copied() else {
            return Call { entry, nr: 1023, args: [Arg::Word(0); 6] };
        };
        let names: Vec<(&str, bool)> =
            call.args.iter().flatten().map(|arg| (arg.name.as_str(), arg.pointer)).collect();
        let mut args: [Arg; 6] = std::array::from_fn(|at| match names.get(at) {
            Some((name, pointer)) => self.named(name, *pointer, random),
            None if call.args.is_none() => self.any(random),
            None => Arg::Word(0),
        });
        tame(&call.name, &mut args, random);
        Call { entry, nr, args }
    }

    fn any(&self, random: &mut Random) -> Arg {
        match random.below(6) {
            0 => Arg::Data(random.below(self.paths) * SLOT as u64),
            1 => Arg::Data(BUFFERS + random.below(1 << 16)),
            2 => Arg::Fd(random.word()),
            3 => Arg::Word(random.word()),
            _ => Arg::Word(random.below(16)),
        }
    }

    /// By the name that the manual gives a parameter.
    fn named(&self, name: &str, pointer: bool, random: &mut Random) -> Arg {
        const BITS: [u64; 12] = [0, 1, 2, 4, 8, 0x10, 0x40, 0x100, 0x800, 0x1000, 0x8_0000, 0x1000_0000];
        if random.below(40) == 0 {
            return Arg::Word(random.pick(&[u64::MAX, 0, 1 << 63, 0xffff_ffff, 0x8000_0000, 0x7fff_ffff], 0));
        }
        let is = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if pointer && is(&["path", "name", "file", "special", "target", "old", "new", "root", "dir"]) {
            return Arg::Data(random.below(self.paths) * SLOT as u64);
        }
        if pointer {
            // Structures that mean something, or room for an answer.
            let offset = if random.below(2) == 0 {
                random.below(self.paths) * SLOT as u64
            } else {
                BUFFERS + random.below(256) * 64
            };
            return Arg::Data(offset);
        }
        if is(&["fd"]) {
            return if random.below(12) == 0 {
                Arg::Word((-100i64).cast_unsigned())
            } else {
                Arg::Fd(random.word())
            };
        }
        if is(&["pid", "tgid", "who", "which"]) {
            return match random.below(4) {
                0 => Arg::Own,
                1 => Arg::Word(self.process),
                _ => Arg::Word(random.pick(&[0, 1, 2, u64::MAX], 0)),
            };
        }
        if is(&["addr", "start"]) {
            return Arg::Scratch(random.below(16) * 4096);
        }
        if is(&["len", "size", "count", "nbytes", "vlen"]) {
            return Arg::Word(random.pick(&[0, 1, 8, 16, 24, 64, 110, 128, 4096], 0));
        }
        if is(&["sig"]) {
            return Arg::Word(random.pick(&[0, 0, 17, 18, 23, 28], 0));
        }
        if is(&["timeout", "msec", "seconds"]) {
            return Arg::Word(random.below(2));
        }
        match random.below(3) {
            0 => Arg::Word(random.below(48)),
            1 => Arg::Word(random.pick(&BITS, 0) | random.pick(&BITS, 0)),
            _ => Arg::Word(random.pick(&BITS, 0)),
        }
    }
}

/// Takes out of a call what would hit the interpreter itself.
fn tame(name: &str, args: &mut [Arg; 6], random: &mut Random) {
    match name {
        // Exactly these flags are a thread, which would run on this one's stack.
        "clone" => {
            let flags = [
                17,
                0x100,
                0x1000_0011,
                0x2000_0011,
                0x4000_0011,
                0x2_0011,
                0x800_0011,
                0x3d_0f01,
                0x7e02_0011,
            ];
            args[0] = Arg::Word(random.pick(&flags, 17));
            args[1] = Arg::Word(0);
        }
        "arch_prctl" => {
            args[0] = Arg::Word(random.pick(&[0x1001, 0x1003, 0x1004, 0x1011, 0x3001, 0x5001], 0x1003));
        }
        "close" | "dup2" | "dup3" => {
            // Never the three that tell how it went.
            args[0] = Arg::Fd(random.word());
            args[1] = Arg::Word(64 + random.below(160));
        }
        "close_range" => {
            args[0] = Arg::Word(200 + random.below(50));
            args[1] = Arg::Word(255);
        }
        "eventfd2" | "timerfd_create" => args[1] = Arg::Word(0x800),
        "fcntl" => args[2] = Arg::Word(0x800),
        // A wait has an end.
        "futex" | "futex_wait" | "futex_waitv" => args[1] = Arg::Word(random.pick(&[1, 3, 4, 5, 10, 129], 1)),
        "poll" => args[2] = Arg::Word(0),
        "epoll_wait" | "epoll_pwait" => args[3] = Arg::Word(0),
        "ppoll" | "pselect6" | "select" | "epoll_pwait2" | "nanosleep" | "clock_nanosleep" | "recvmmsg" => {
            // Nothing to wait for, and zeros wherever a time may be.
            args.fill(Arg::Data(BUFFERS - 64));
            args[0] = if name == "nanosleep" { args[0] } else { Arg::Word(0) };
            args[1] = Arg::Word(0);
        }
        "mmap" => {
            args[1] = Arg::Word(4096 * (1 + random.below(4)));
            let fixed = if matches!(args[0], Arg::Scratch(_)) { 0x10 } else { 0 };
            args[3] = Arg::Word(fixed | random.pick(&[1, 2, 0x21, 0x22, 0x8022, 0x4_0022, 0x1_0022], 0x22));
            args[2] = Arg::Word(random.below(8));
            args[5] = Arg::Word(0);
        }
        "munmap" | "mprotect" | "madvise" | "msync" | "mremap" | "mbind" | "pkey_mprotect" | "mlock"
        | "mseal" => {
            args[0] = Arg::Scratch(random.below(16) * 4096);
            args[1] = Arg::Word(4096);
            if name == "mremap" {
                args[2] = Arg::Word(4096 * (1 + random.below(3)));
                args[3] = Arg::Word(random.below(2));
            }
        }
        "process_madvise" | "remap_file_pages" | "move_pages" | "migrate_pages" => args[0] = Arg::Word(0),
        _ => {}
    }
}

/// What the data pages hold: paths, socket addresses, structures. Also how many slots there are.
fn pages(targets: &Targets) -> (Vec<(usize, Vec<u8>)>, u64) {
    let mut slots: Vec<Vec<u8>> = Vec::new();
    let own = [
        "/",
        "/workdir",
        "/workdir/f",
        "/workdir/d",
        "/workdir/link",
        "f",
        "d/g",
        "..",
        "../../..",
        "/tmp/x",
        "/dev/null",
        "/dev/zero",
        "/dev/shm/x",
        "/etc/passwd",
        "/proc/self/mem",
        "/proc/1/root",
        "/sys",
        "/skilljail-fuzz",
        "/workdir/out/a",
        "tmpfs",
        "proc",
        "overlay",
        "cgroup2",
        "user",
        "",
    ];
    slots.extend(own.iter().map(|path| path.as_bytes().to_vec()));
    slots.extend(targets.paths.iter().map(|path| path.as_bytes().to_vec()));
    let mut inet = vec![2, 0];
    inet.extend(targets.port.to_be_bytes());
    inet.extend([127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    slots.push(inet);
    for name in &targets.names {
        let mut address = vec![1, 0, 0];
        address.extend(name.as_bytes());
        slots.push(address);
    }
    for path in &targets.paths {
        let mut address = vec![1, 0];
        address.extend(path.as_bytes());
        slots.push(address);
    }
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
    // A timespec, clone_args, mount_attr, open_how, a ruleset, two limits, flags and ids.
    slots.extend([
        words(&[0, 1000, 0, 1000]),
        words(&[0x1000_0000, 0, 0, 0, 17, 0, 0, 0]),
        words(&[0, 1, 0, 0]),
        words(&[2, 0o644, 0]),
        words(&[1, 1]),
        words(&[4096, 4096]),
        words(&[u64::MAX, u64::MAX, u64::MAX, u64::MAX]),
        words(&[1, 2, 3, 4, 5, 6, 7, 8]),
    ]);
    let count = slots.len() as u64;
    let data = slots.into_iter().enumerate().map(|(at, mut bytes)| {
        bytes.truncate(SLOT - 1);
        bytes.push(0);
        (at * SLOT, bytes)
    });
    (data.collect(), count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_seed_makes_one_program_and_batches_differ() {
        let targets =
            Targets { paths: vec!["/outside/secret".to_owned()], process: 99, port: 7, names: Vec::new() };
        assert_eq!(program(1, 0, &targets), program(1, 0, &targets));
        assert_ne!(program(1, 0, &targets), program(1, 1, &targets));
        assert_ne!(program(1, 0, &targets), program(2, 0, &targets));
    }

    #[test]
    fn programs_reach_most_of_the_table_and_numbers_beyond_it() {
        let mut seen = BTreeSet::new();
        for batch in 0..8 {
            for thread in program(3, batch, &Targets::default()).threads {
                seen.extend(thread.iter().map(|call| call.nr));
            }
        }
        assert!(seen.len() > 300, "{}", seen.len());
        assert!(seen.iter().any(|nr| *nr > 1000));
    }
}
