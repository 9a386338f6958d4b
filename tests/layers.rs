//! Each layer alone: with every other wall down it still refuses, by the errno or signal that is named here; with it gone
//! too the forbidden thing works, judged by what happened to a canary. Feature `lab`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a skipped part says why")]

#[path = "layers/bench.rs"]
mod bench;
#[path = "layers/laboratory.rs"]
mod laboratory;
mod support;

use bench::Want::{Errno, Nothing, Says, Signal};
use bench::{Case, canary_file, did, said};

#[test]
fn fds() {
    Case::new("fds", "read a file that the caller left open", "os.read(7, 100).decode()")
        .full(Errno("EBADF"))
        .alone(Errno("EBADF"))
        .works(|ran| did(ran) == "untouched");
    Case::new(
        "fds",
        "write below a directory that the caller left open",
        "os.write(os.open('file', os.O_WRONLY | os.O_TRUNC, dir_fd=8), b'reached')",
    )
    .full(Errno("EBADF"))
    .alone(Errno("EBADF"))
    .works(|ran| canary_file(ran) == "reached");
    Case::new(
        "fds",
        "survive a signal that the caller ignores",
        "os.kill(os.getpid(), signal.SIGUSR1) or 'alive'",
    )
    .full(Signal(libc_sigusr1()))
    .alone(Signal(libc_sigusr1()))
    .works(|ran| did(ran) == "alive");
}

fn libc_sigusr1() -> i32 {
    nix::sys::signal::Signal::SIGUSR1 as i32
}

#[test]
fn idmap() {
    Case::new("idmap", "become root", "os.setresuid(0, 0, 0) or os.getresuid()")
        .full(Errno("EPERM"))
        .alone(Errno("EINVAL"))
        .still(&["idmap.userns"])
        .works(|ran| did(ran) == serde_json::json!([0, 0, 0]));
    Case::new("idmap", "kill a process of the caller's", "os.kill(PROCESS, signal.SIGKILL)")
        .full(Errno("ESRCH"))
        .alone(Errno("ESRCH"))
        .works(|ran| ran.document["canaries"]["process"] == "SIGKILL");
    Case::new(
        "idmap",
        "signal the caller's process group",
        "[signal.signal(signal.SIGUSR1, signal.SIG_IGN), os.kill(0, signal.SIGUSR1)]",
    )
    .stands(&["idmap.session"])
    .full(Nothing)
    .alone(Nothing)
    .works(|ran| ran.document["canaries"]["process"] == "SIGUSR1");
    Case::new("idmap", "make a user namespace", "call('unshare', 0x10000000) or os.getuid()")
        .needs(|ran| {
            let idmap = ran.document["layers"].as_array().unwrap()[1].clone();
            (idmap["details"]["no_nested_userns_by_sysctl"] != true)
                .then_some("/proc/sys is read-only here: only the filter refuses")
        })
        .full(Errno("EPERM"))
        .alone(Errno("ENOSPC"))
        .works(|ran| did(ran) == 65534);
}

#[test]
fn mounts() {
    let write = "open('/canary/file', 'w').write('reached')";
    Case::new("mounts", "write a file of the host's", write)
        .full(Errno("ENOENT"))
        .alone(Errno("ENOENT"))
        .works(|ran| canary_file(ran) == "reached");
    Case::new("mounts", "write through a bind", write)
        .stands(&["mounts.readonly"])
        .full(Errno("ENOENT"))
        .alone(Errno("EROFS"))
        .works(|ran| canary_file(ran) == "reached");
    Case::new(
        "mounts",
        "change the jail's own /etc",
        "open('/etc/new', 'w').write('x') and os.listdir('/etc')",
    )
    .full(Errno("EROFS"))
    .alone(Errno("EROFS"))
    .works(|ran| said(ran).contains("new"));
    Case::new("mounts", "execute a file of one's own making", EXECUTE)
        .full(Errno("EPERM"))
        .alone(Errno("EACCES"))
        .works(|ran| did(ran) == "executed");
    Case::new("mounts", "make more files than the workdir may hold", MANY_FILES)
        .full(Errno("ENOSPC"))
        .alone(Errno("ENOSPC"))
        .works(|ran| did(ran) == 5000);
}

const EXECUTE: &str = "execute()";
const MANY_FILES: &str = "[open(f'/workdir/tmp/{n}', 'x').close() for n in range(5000)].count(None)";
const CONNECT: &str = "connect(socket.AF_INET, ('127.0.0.1', PORT))";
const CONNECT_UNIX: &str = "connect(socket.AF_UNIX, '\\0' + SOCKET)";

#[test]
fn net() {
    Case::new("net", "connect to a port of the caller's", CONNECT)
        .full(Errno("EPERM"))
        .alone(Errno("ENETUNREACH"))
        .works(|ran| ran.document["canaries"]["listener"]["text"] == "reached");
    Case::new("net", "connect to an abstract socket of the caller's", CONNECT_UNIX)
        .full(Errno("EPERM"))
        .alone(Errno("ECONNREFUSED"))
        .works(|ran| ran.document["canaries"]["socket"]["text"] == "reached");
    Case::new("net", "write a System V segment of the caller's", "write_segment(b'reached')")
        .needs(|ran| ran.document["canaries"]["segment"].is_null().then_some("no System V segments here"))
        .full(Errno("EPERM"))
        .alone(Errno("ENOENT"))
        .works(|ran| ran.document["canaries"]["segment"] == "reached");
    Case::new("net", "learn the host's name", "os.uname().nodename")
        .full(Says("skilljail"))
        .alone(Says("skilljail"))
        .works(|ran| did(ran) == "laboratory");
}

#[test]
fn rlimits() {
    Case::new("rlimits", "open 300 files", "len([os.dup(0) for _ in range(300)])")
        .full(Errno("EMFILE"))
        .alone(Errno("EMFILE"))
        .works(|ran| did(ran) == 300);
    Case::new(
        "rlimits",
        "make a file of 65 MiB",
        "os.truncate(os.open('/workdir/big', os.O_CREAT | os.O_WRONLY), 65 << 20) or os.stat('/workdir/big').st_size",
    )
    .full(Errno("EFBIG"))
    .alone(Errno("EFBIG"))
    .works(|ran| did(ran) == 65 << 20);
    Case::new("rlimits", "map 600 MiB", "len(mmap.mmap(-1, 600 << 20))")
        .full(Errno("ENOMEM"))
        .alone(Errno("ENOMEM"))
        .works(|ran| did(ran) == 600 << 20);
    Case::new("rlimits", "start 80 processes", "len([start(signal.pause) for _ in range(80)])")
        .full(Errno("EPERM"))
        .alone(Errno("EAGAIN"))
        .works(|ran| did(ran) == 80);
}

#[test]
fn privs() {
    Case::new(
        "privs",
        "mount",
        "os.mkdir('m') or os.mkdir('m/covered') or call('mount', b'x', b'm', b'tmpfs', 0, None) or os.listdir('m')",
    )
    .full(Errno("EPERM"))
    .alone(Errno("EPERM"))
    .works(|ran| did(ran) == serde_json::json!([]));
    Case::new("privs", "change the root", "os.chroot('/workdir/out') or os.chdir('/') or os.listdir('/')")
        .full(Errno("EPERM"))
        .alone(Errno("EPERM"))
        .works(|ran| did(ran) == serde_json::json!([]));
    Case::new("privs", "rename the host", "socket.sethostname('renamed')")
        .full(Errno("EPERM"))
        .alone(Errno("EPERM"))
        .works(|ran| ran.document["canaries"]["hostname"] == "renamed");
    Case::new("privs", "read a key of the caller's", "read_key(KEY)")
        .needs(|ran| (ran.document["canaries"]["key"] != true).then_some("keyctl is refused here"))
        .full(Errno("EPERM"))
        .alone(Errno("ENOKEY"))
        .works(|ran| did(ran) == "a secret of the caller");
}

#[test]
fn landlock() {
    Case::new(
        "landlock",
        "change the jail's own /etc",
        "open('/etc/new', 'w').write('x') and os.listdir('/etc')",
    )
    .full(Errno("EROFS"))
    .alone(Errno("EACCES"))
    .works(|ran| said(ran).contains("new"));
    Case::new("landlock", "read a file of the host's", "open('/canary/file').read()")
        .full(Errno("ENOENT"))
        .alone(Errno("EACCES"))
        .works(|ran| did(ran) == "untouched");
    Case::new("landlock", "write a file of the host's", "open('/canary/file', 'w').write('reached')")
        .full(Errno("ENOENT"))
        .alone(Errno("EACCES"))
        .works(|ran| canary_file(ran) == "reached");
    Case::new("landlock", "execute a file of one's own making", EXECUTE)
        .full(Errno("EPERM"))
        .alone(Errno("EACCES"))
        .works(|ran| did(ran) == "executed");
}

#[test]
fn landlock_of_newer_kernels() {
    Case::new("landlock", "connect to a port of the caller's", CONNECT)
        .landlock(4)
        .full(Errno("EPERM"))
        .alone(Errno("EACCES"))
        .works(|ran| ran.document["canaries"]["listener"]["text"] == "reached");
    Case::new("landlock", "connect to an abstract socket of the caller's", CONNECT_UNIX)
        .landlock(6)
        .full(Errno("EPERM"))
        .alone(Errno("EPERM"))
        .works(|ran| ran.document["canaries"]["socket"]["text"] == "reached");
    Case::new("landlock", "kill a process of the caller's", "os.kill(PROCESS, signal.SIGKILL)")
        .landlock(6)
        .full(Errno("ESRCH"))
        .alone(Errno("EPERM"))
        .works(|ran| ran.document["canaries"]["process"] == "SIGKILL");
}

#[test]
fn seccomp() {
    Case::new("seccomp", "connect to a port of the caller's", CONNECT)
        .full(Errno("EPERM"))
        .alone(Errno("EPERM"))
        .works(|ran| ran.document["canaries"]["listener"]["text"] == "reached");
    Case::new(
        "seccomp",
        "start a process that writes",
        "os.waitpid(start(lambda: open('/canary/file', 'w').write('reached')), 0)",
    )
    .full(Errno("EPERM"))
    .alone(Errno("EPERM"))
    .works(|ran| canary_file(ran) == "reached");
    Case::new("seccomp", "run machine code of one's own making", "machine_code()")
        .full(Errno("EPERM"))
        .alone(Errno("EPERM"))
        .works(|ran| did(ran) == 42);
}
