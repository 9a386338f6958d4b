//! The names that a filter may use for numbers, and the two places of the one allowed exec.

/// The number of the one descriptor that may be executed. The set-up moves the interpreter to it while it may still have
/// such a number; once the hard `RLIMIT_NOFILE` is [`MAX_NOFILE`] or lower nobody can make it again.
pub const EXEC_FD: i32 = 1023;

/// The highest hard `RLIMIT_NOFILE` that keeps [`EXEC_FD`] out of reach (a limit of n gives numbers below n).
pub const MAX_NOFILE: u64 = EXEC_FD as u64;

/// The address of the empty path in the one allowed exec.
///
/// `execveat` ignores its descriptor where the path is absolute, so a rule on the descriptor alone is no rule.
/// A filter sees the pointer only; therefore the pointer is pinned to a page that nobody can map once the filter
/// stands: `mmap` takes no address below [`LOWEST_MAP`] other than 0 and no `MAP_GROWSDOWN`, `mremap` no address. Left
/// to itself the kernel places mappings from the top down, so it gets here only when everything above is taken:
/// hence [`MAX_ADDRESS_SPACE`]. The set-up maps a zero page there beforehand (`sys::execveat`); the
/// exec itself takes it away. Above every default of `vm.mmap_min_addr` (64 KiB), below any program's first
/// segment (4 MiB).
pub const EXEC_PATH: u64 = 0x0008_0000;

/// The highest hard `RLIMIT_AS` that keeps [`EXEC_PATH`] out of reach, whatever else limits memory: far below the 128 TiB
/// that a process would have to fill first.
pub const MAX_ADDRESS_SPACE: u64 = 1 << 40;

/// The lowest address that `mmap` may be asked for.
pub const LOWEST_MAP: u64 = 0x0010_0000;

/// A name and its value, equal on both architectures.
type Named = (&'static str, u64);

/// Values of arguments, by the header that defines them.
const VALUES: &[Named] = &[
    ("EXEC_FD", EXEC_FD as u64),
    ("EXEC_PATH", EXEC_PATH),
    ("LOWEST_MAP", LOWEST_MAP),
    ("NULL", 0),
    // linux/fcntl.h
    ("AT_FDCWD", 0xffff_ff9c),
    ("AT_SYMLINK_NOFOLLOW", 0x100),
    ("AT_REMOVEDIR", 0x200),
    ("AT_SYMLINK_FOLLOW", 0x400),
    ("AT_EMPTY_PATH", 0x1000),
    ("AT_EXECVE_CHECK", 0x1_0000),
    ("O_RDONLY", 0),
    ("O_WRONLY", 1),
    ("O_RDWR", 2),
    ("O_ACCMODE", 3),
    ("O_CREAT", 0o100),
    ("O_EXCL", 0o200),
    ("O_NOCTTY", 0o400),
    ("O_TRUNC", 0o1000),
    ("O_APPEND", 0o2000),
    ("O_NONBLOCK", 0o4000),
    ("O_CLOEXEC", 0o2_000_000),
    ("F_DUPFD", 0),
    ("F_GETFD", 1),
    ("F_SETFD", 2),
    ("F_GETFL", 3),
    ("F_SETFL", 4),
    ("F_GETLK", 5),
    ("F_SETLK", 6),
    ("F_SETLKW", 7),
    ("F_SETOWN", 8),
    ("F_GETOWN", 9),
    ("F_SETSIG", 10),
    ("F_GETSIG", 11),
    ("F_SETOWN_EX", 15),
    ("F_GETOWN_EX", 16),
    ("F_OFD_GETLK", 36),
    ("F_OFD_SETLK", 37),
    ("F_OFD_SETLKW", 38),
    ("F_SETLEASE", 1024),
    ("F_GETLEASE", 1025),
    ("F_NOTIFY", 1026),
    ("F_DUPFD_CLOEXEC", 1030),
    ("F_SETPIPE_SZ", 1031),
    ("F_GETPIPE_SZ", 1032),
    ("F_ADD_SEALS", 1033),
    ("F_GET_SEALS", 1034),
    ("POSIX_FADV_NORMAL", 0),
    ("POSIX_FADV_RANDOM", 1),
    ("POSIX_FADV_SEQUENTIAL", 2),
    ("POSIX_FADV_WILLNEED", 3),
    ("POSIX_FADV_DONTNEED", 4),
    ("POSIX_FADV_NOREUSE", 5),
    // linux/stat.h
    ("S_ISUID", 0o4000),
    ("S_ISGID", 0o2000),
    // linux/fs.h
    ("RWF_HIPRI", 1),
    ("RWF_DSYNC", 2),
    ("RWF_SYNC", 4),
    ("RWF_NOWAIT", 8),
    ("RWF_APPEND", 16),
    ("FICLONE", 0x4004_9409),
    // linux/close_range.h
    ("CLOSE_RANGE_UNSHARE", 2),
    ("CLOSE_RANGE_CLOEXEC", 4),
    // asm-generic/ioctls.h
    ("TCGETS", 0x5401),
    ("TCSETS", 0x5402),
    ("TIOCSCTTY", 0x540e),
    ("TIOCSTI", 0x5412),
    ("TIOCGWINSZ", 0x5413),
    ("FIONREAD", 0x541b),
    ("TIOCLINUX", 0x541c),
    ("FIONBIO", 0x5421),
    ("FIONCLEX", 0x5450),
    ("FIOCLEX", 0x5451),
    ("FIOASYNC", 0x5452),
    ("TCGETS2", 0x802c_542a),
    // asm-generic/mman-common.h, linux/mman.h
    ("PROT_NONE", 0),
    ("PROT_READ", 1),
    ("PROT_WRITE", 2),
    ("PROT_EXEC", 4),
    ("MAP_SHARED", 1),
    ("MAP_PRIVATE", 2),
    ("MAP_TYPE", 0xf),
    ("MAP_FIXED", 0x10),
    ("MAP_ANONYMOUS", 0x20),
    ("MAP_GROWSDOWN", 0x100),
    ("MAP_HUGETLB", 0x4_0000),
    ("MREMAP_MAYMOVE", 1),
    ("MREMAP_FIXED", 2),
    ("MREMAP_DONTUNMAP", 4),
    ("MADV_NORMAL", 0),
    ("MADV_RANDOM", 1),
    ("MADV_SEQUENTIAL", 2),
    ("MADV_WILLNEED", 3),
    ("MADV_DONTNEED", 4),
    ("MADV_FREE", 8),
    ("MADV_REMOVE", 9),
    ("MADV_DONTFORK", 10),
    ("MADV_DOFORK", 11),
    ("MADV_MERGEABLE", 12),
    ("MADV_UNMERGEABLE", 13),
    ("MADV_HUGEPAGE", 14),
    ("MADV_NOHUGEPAGE", 15),
    ("MADV_DONTDUMP", 16),
    ("MADV_DODUMP", 17),
    ("MADV_WIPEONFORK", 18),
    ("MADV_KEEPONFORK", 19),
    ("MADV_COLD", 20),
    ("MADV_PAGEOUT", 21),
    ("MADV_POPULATE_READ", 22),
    ("MADV_POPULATE_WRITE", 23),
    ("MADV_HWPOISON", 100),
    ("MADV_GUARD_INSTALL", 102),
    ("MADV_GUARD_REMOVE", 103),
    // linux/sched.h
    ("CLONE_VM", 0x100),
    ("CLONE_FS", 0x200),
    ("CLONE_FILES", 0x400),
    ("CLONE_SIGHAND", 0x800),
    ("CLONE_PTRACE", 0x2000),
    ("CLONE_VFORK", 0x4000),
    ("CLONE_PARENT", 0x8000),
    ("CLONE_THREAD", 0x1_0000),
    ("CLONE_NEWNS", 0x2_0000),
    ("CLONE_SYSVSEM", 0x4_0000),
    ("CLONE_SETTLS", 0x8_0000),
    ("CLONE_PARENT_SETTID", 0x10_0000),
    ("CLONE_CHILD_CLEARTID", 0x20_0000),
    ("CLONE_UNTRACED", 0x80_0000),
    ("CLONE_CHILD_SETTID", 0x100_0000),
    ("CLONE_NEWCGROUP", 0x200_0000),
    ("CLONE_NEWUTS", 0x400_0000),
    ("CLONE_NEWIPC", 0x800_0000),
    ("CLONE_NEWUSER", 0x1000_0000),
    ("CLONE_NEWPID", 0x2000_0000),
    ("CLONE_NEWNET", 0x4000_0000),
    ("CLONE_NEWTIME", 0x80),
    // linux/prctl.h, asm/prctl.h
    ("PR_SET_PDEATHSIG", 1),
    ("PR_SET_DUMPABLE", 4),
    ("PR_SET_NAME", 15),
    ("PR_GET_NAME", 16),
    ("PR_SET_SECCOMP", 22),
    ("PR_CAPBSET_READ", 23),
    ("PR_CAPBSET_DROP", 24),
    ("PR_SET_MM", 35),
    ("PR_SET_NO_NEW_PRIVS", 38),
    ("PR_SET_VMA", 0x5356_4d41),
    ("ARCH_SET_GS", 0x1001),
    ("ARCH_SET_FS", 0x1002),
    ("ARCH_GET_FS", 0x1003),
    ("ARCH_CET_STATUS", 0x3001),
    ("ARCH_SHSTK_STATUS", 0x5005),
    // asm/signal.h
    ("SIGINT", 2),
    ("SIGABRT", 6),
    ("SIGKILL", 9),
    ("SIGUSR1", 10),
    ("SIGSEGV", 11),
    ("SIGTERM", 15),
    ("SIGSTOP", 19),
    ("SIGXFSZ", 25),
    ("SIGSYS", 31),
    // linux/socket.h
    ("AF_UNSPEC", 0),
    ("AF_UNIX", 1),
    ("AF_INET", 2),
    ("AF_INET6", 10),
    ("AF_NETLINK", 16),
    ("AF_PACKET", 17),
    ("AF_ALG", 38),
    ("AF_VSOCK", 40),
    ("AF_XDP", 44),
    ("SOCK_STREAM", 1),
    ("SOCK_DGRAM", 2),
    ("SOCK_RAW", 3),
    ("SOCK_SEQPACKET", 5),
    ("SOCK_TYPE_MASK", 0xf),
    ("SOCK_NONBLOCK", 0o4000),
    ("SOCK_CLOEXEC", 0o2_000_000),
    ("IPPROTO_IP", 0),
    ("IPPROTO_TCP", 6),
    ("IPPROTO_UDP", 17),
    ("IPPROTO_IPV6", 41),
    ("IPPROTO_MPTCP", 262),
    ("SOL_SOCKET", 1),
    ("SO_REUSEADDR", 2),
    ("SO_TYPE", 3),
    ("SO_ERROR", 4),
    ("SO_BROADCAST", 6),
    ("SO_SNDBUF", 7),
    ("SO_RCVBUF", 8),
    ("SO_KEEPALIVE", 9),
    ("SO_LINGER", 13),
    ("SO_REUSEPORT", 15),
    ("SO_PASSCRED", 16),
    ("SO_PEERCRED", 17),
    ("SO_RCVTIMEO", 20),
    ("SO_SNDTIMEO", 21),
    ("SO_BINDTODEVICE", 25),
    ("SO_ATTACH_FILTER", 26),
    ("SO_ACCEPTCONN", 30),
    ("SO_SNDBUFFORCE", 32),
    ("SO_RCVBUFFORCE", 33),
    ("SO_PROTOCOL", 38),
    ("SO_DOMAIN", 39),
    ("TCP_NODELAY", 1),
    ("TCP_MAXSEG", 2),
    ("TCP_KEEPIDLE", 4),
    ("TCP_KEEPINTVL", 5),
    ("TCP_KEEPCNT", 6),
    ("TCP_USER_TIMEOUT", 18),
    ("TCP_FASTOPEN_CONNECT", 30),
    ("IP_TOS", 1),
    ("IP_RECVERR", 11),
    ("IPV6_TCLASS", 67),
    ("IPV6_RECVERR", 25),
    ("IPV6_V6ONLY", 26),
    ("MSG_FASTOPEN", 0x2000_0000),
];

/// errno numbers (asm-generic, equal on both architectures).
const ERRNOS: &[(&str, u16)] = &[
    // Done, says the call, and nothing was: for calls that mean nothing where there is one process.
    ("SUCCESS", 0),
    ("EPERM", 1),
    ("ENOENT", 2),
    ("EINTR", 4),
    ("EIO", 5),
    ("EBADF", 9),
    ("EAGAIN", 11),
    ("ENOMEM", 12),
    ("EACCES", 13),
    ("EFAULT", 14),
    ("EBUSY", 16),
    ("EEXIST", 17),
    ("EXDEV", 18),
    ("ENODEV", 19),
    ("EINVAL", 22),
    ("ENOTTY", 25),
    ("ENOSPC", 28),
    ("EROFS", 30),
    ("ENOSYS", 38),
    ("EOPNOTSUPP", 95),
    ("EAFNOSUPPORT", 97),
    ("ENETUNREACH", 101),
    ("ECONNREFUSED", 111),
];

/// The value of a name.
pub fn value(name: &str) -> Option<u64> {
    VALUES.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
}

/// All names that [`value`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    VALUES.iter().map(|(n, _)| *n)
}

/// The number of an errno's name.
pub fn errno(name: &str) -> Option<u16> {
    ERRNOS.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
}

/// All names that [`errno`] knows.
pub fn errno_names() -> impl Iterator<Item = &'static str> {
    ERRNOS.iter().map(|(n, _)| *n)
}

/// The name of an errno's number.
pub fn errno_name(number: u16) -> Option<&'static str> {
    ERRNOS.iter().find(|(_, v)| *v == number).map(|(n, _)| *n)
}
