# Prints what a script of a skill can see of its jail, as one JSON object. Judged by tests/inside.rs.
import ctypes
import errno
import json
import os
import resource
import signal
import socket
import stat
import sys

libc = ctypes.CDLL(None, use_errno=True)
# What Python offers no function for.
PTRACE, SETRLIMIT = {"x86_64": (101, 160), "aarch64": (117, 164)}[os.uname().machine]


def attempt(action):
    """`ok`, or the errno's name."""
    try:
        action()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    return "ok"


def flags(path):
    bits = os.statvfs(path).f_flag
    names = ((1, "ro"), (2, "nosuid"), (4, "nodev"), (8, "noexec"))
    return [name for bit, name in names if bits & bit]


def capacity(path):
    seen = os.statvfs(path)
    return {"bytes": seen.f_blocks * seen.f_frsize, "inodes": seen.f_files}


KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "link", stat.S_IFCHR: "char"}


def tree(top):
    """Every path below, with its kind, its permission bits and, for a link, where it leads."""
    found = []
    for name in sorted(os.listdir(top)):
        path = os.path.join(top, name)
        seen = os.lstat(path)
        kind = KINDS.get(stat.S_IFMT(seen.st_mode), "other")
        line = f"{kind} {stat.S_IMODE(seen.st_mode):04o} {path}"
        if kind == "link":
            line += " -> " + os.readlink(path)
        found.append(line)
        if kind == "dir" and path != "/usr":
            found += tree(path)
    return found


def usr():
    """/usr is long: its second level, what is special in it, and every directory that cannot be listed."""
    seconds, special, names, unreadable = [], [], [], []
    for folder, folders, files in os.walk("/usr", onerror=lambda e: unreadable.append(e.filename)):
        if folder.count("/") < 3:
            seconds += [os.path.join(folder, name) for name in folders + files]
        for name in folders + files:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if mode & (stat.S_ISUID | stat.S_ISGID) or stat.S_IFMT(mode) not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
                special.append(path)
            names.append(name)
    shells = {"sh", "bash", "dash", "zsh", "ksh", "busybox", "su", "sudo", "env", "perl", "gcc", "cc", "ld", "pip", "pip3"}
    return {"second_level": sorted(seconds), "special": special, "unreadable": unreadable,
            "tools": sorted(shells & set(names)), "files": len(names),
            "programs": sorted(os.listdir("/usr/bin"))}


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def refused_anywhere():
    """Attempts to write where nothing may be written."""
    places = ["/x", "/usr/x", "/usr/lib/x", "/skill/x", "/skill/scripts/x", "/etc/x", "/dev/x", "/workdir/in/x"]
    made = {path: attempt(lambda path=path: os.close(os.open(path, os.O_CREAT | os.O_WRONLY))) for path in places}
    files = ["/skill/SKILL.md", "/skill/scripts/main.py", "/etc/passwd", "/workdir/in/data.csv", os.__file__, sys.executable]
    opened = {path: attempt(lambda path=path: os.close(os.open(path, os.O_WRONLY))) for path in files}
    removed = {path: attempt(lambda path=path: os.unlink(path)) for path in files}
    changed = {path: attempt(lambda path=path: os.chmod(path, 0o777)) for path in files + ["/", "/skill", "/usr"]}
    return {"created": made, "opened": opened, "removed": removed, "changed": changed}


def same_folder(one, other):
    with open(os.path.join(one, "seen"), "w", encoding="utf-8") as file:
        file.write("x")
    there = os.path.exists(os.path.join(other, "seen"))
    os.unlink(os.path.join(other, "seen"))
    return there and not os.path.exists(os.path.join(one, "seen")) and os.stat(one).st_ino == os.stat(other).st_ino


def devices():
    def read(path, count=4):
        with open(path, "rb", buffering=0) as file:
            return file.read(count)

    def write(path):
        with open(path, "wb", buffering=0) as file:
            file.write(b"x")

    return {
        "null_reads": read("/dev/null").hex(), "null_takes": attempt(lambda: write("/dev/null")),
        "zero": read("/dev/zero").hex(),
        "full_reads": read("/dev/full").hex(), "full_takes": attempt(lambda: write("/dev/full")),
        "random": len(read("/dev/random", 16)), "urandom_differs": read("/dev/urandom", 16) != read("/dev/urandom", 16),
        "numbers": {name: [os.major(os.stat(f"/dev/{name}").st_rdev), os.minor(os.stat(f"/dev/{name}").st_rdev)]
                    for name in ("null", "zero", "full", "random", "urandom")},
        "made": attempt(lambda: os.mknod("/workdir/node", stat.S_IFCHR | 0o600, os.makedev(1, 3))),
        "block_made": attempt(lambda: os.mknod("/workdir/disk", stat.S_IFBLK | 0o600, os.makedev(8, 0))),
        "tty": attempt(lambda: os.open("/dev/tty", os.O_RDWR)),
        "ptmx": attempt(lambda: os.open("/dev/ptmx", os.O_RDWR)),
    }


def executable_memory(folder):
    """A file of code in `folder`, mapped executable: what noexec and Landlock must refuse."""
    path = os.path.join(folder, "code")
    with open(path, "wb") as file:
        file.write(b"\xc3" * 4096)
    descriptor = os.open(path, os.O_RDONLY)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    address = libc.mmap(None, 4096, 1 | 4, 2, descriptor, 0)
    seen = errno.errorcode[ctypes.get_errno()] if address == ctypes.c_void_p(-1).value else "ok"
    os.close(descriptor)
    os.unlink(path)
    return seen


def process():
    fds = [fd for fd in range(0, 4096) if attempt(lambda fd=fd: os.fstat(fd)) == "ok"]
    terminal = {fd: attempt(lambda fd=fd: os.tcgetpgrp(fd)) for fd in (0, 1, 2)}
    return {
        "fds": fds,
        "kinds": [stat.S_IFMT(os.fstat(fd).st_mode) == stat.S_IFIFO for fd in fds],
        "access": [__import__("fcntl").fcntl(fd, 3) & os.O_ACCMODE for fd in fds],
        "isatty": [os.isatty(fd) for fd in fds], "terminal": terminal,
        "pid": os.getpid(), "parent": os.getppid(), "session": os.getsid(0), "group": os.getpgid(0),
        "others": [pid for pid in range(1, 64) if attempt(lambda pid=pid: os.kill(pid, 0)) == "ok"],
        "ids": [os.getresuid(), os.getresgid()], "groups": os.getgroups(),
        "cwd": os.getcwd(), "host": os.uname().nodename, "umask": os.umask(0o077),
        "signals": {s.name: str(signal.getsignal(s)) for s in signal.valid_signals() if isinstance(s, signal.Signals)
                    and signal.getsignal(s) != signal.SIG_DFL},
        "mask": [int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
        "limits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")},
        "environment": dict(os.environ), "argv": sys.argv,
    }


def privileges():
    call = lambda *args: "ok" if libc.syscall(*args) >= 0 else errno.errorcode[ctypes.get_errno()]
    return {
        "setuid": attempt(lambda: os.setuid(0)), "setgid": attempt(lambda: os.setgid(0)),
        "setgroups": attempt(lambda: os.setgroups([0])), "chroot": attempt(lambda: os.chroot("/workdir")),
        "chown": attempt(lambda: os.chown("/workdir", 0, 0)), "nice": attempt(lambda: os.nice(-1)),
        "setuid_file": attempt(lambda: (open("/workdir/s", "w").close(), os.chmod("/workdir/s", 0o4755))),
        "fork": attempt(os.fork), "exec": attempt(lambda: os.execv(sys.executable, ["python"])),
        "kill_init": attempt(lambda: os.kill(1, signal.SIGKILL)),
        "trace_init": call(PTRACE, 16, 1, 0, 0), "hostname": attempt(lambda: socket.sethostname("x")),
        "set_limit": call(SETRLIMIT, resource.RLIMIT_CORE, (ctypes.c_ulong * 2)(1, 1)),
        "socket": attempt(lambda: socket.socket(socket.AF_INET)),
        "unix": attempt(lambda: socket.socket(socket.AF_UNIX)),
        "netlink": attempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)),
    }


def python():
    import beside
    return {
        "beside": beside.WORD, "path": sys.path, "flags": {name: getattr(sys.flags, name) for name in (
            "isolated", "no_user_site", "ignore_environment", "safe_path", "dont_write_bytecode", "inspect")},
        "markers": sorted(name for name in sys.modules if name in ("sitecustomize", "usercustomize", "planted")),
        "planted": os.environ.get("PLANTED"), "user_site": __import__("site").ENABLE_USER_SITE,
        "executable": sys.executable, "prefix": sys.prefix, "encoding": [sys.stdout.encoding, sys.getfilesystemencoding()],
        "input": json.load(sys.stdin), "after": sys.stdin.read(),
    }


# First, before anything here opened or made something.
seen = {"process": process(), "tree": tree("/")}
seen["python"] = python()
folders = ["/", "/usr", "/skill", "/skill/out", "/workdir", "/workdir/in", "/workdir/out", "/workdir/tmp", "/tmp", "/dev/shm",
           "/etc", "/dev"]
seen["flags"] = {path: flags(path) for path in folders}
seen["node_flags"] = {name: flags("/dev/" + name) for name in ("null", "zero", "full", "random", "urandom")}
seen["capacity"] = {path: capacity(path) for path in ("/workdir", "/dev/shm")}
seen["usr"] = usr()
seen["texts"] = {"/etc/" + name: text("/etc/" + name) for name in os.listdir("/etc")}
seen["given"] = text("/workdir/in/data.csv")
seen["refused"] = refused_anywhere()
seen["same"] = {"out": same_folder("/workdir/out", "/skill/out"), "tmp": same_folder("/workdir/tmp", "/tmp")}
seen["devices"] = devices()
seen["no_exec"] = {path: executable_memory(path) for path in ("/workdir", "/tmp", "/dev/shm", "/workdir/out")}
seen["privileges"] = privileges()
seen["absent"] = [path for path in ("/proc", "/sys", "/proc/self", "/bin/sh", "/bin", "/sbin", "/root", "/home", "/var", "/run",
                                    "/mnt", "/boot", "/oldroot", "/.old", "/skill/.skillenv") if os.path.lexists(path)]
print(json.dumps(seen))
