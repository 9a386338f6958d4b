//! One exec, then never again; and Python lives.

use crate::child::{Exec, spawn};
use skilljail::seccomp::{self, Compiled};

fn python() -> Option<&'static str> {
    let found =
        ["/usr/bin/python3", "/usr/local/bin/python3"].into_iter().find(|p| std::fs::metadata(p).is_ok());
    if found.is_none() {
        eprintln!("SKIP: no python3 in /usr/bin or /usr/local/bin");
    }
    found
}

/// Runs a script under a filter on the bare host: its exit code (minus), and the names of what was denied.
fn script(filter: &Compiled, text: &str) -> Option<(i32, Vec<&'static str>)> {
    let exec = Exec::new(python()?, &["python3", "-I", "-B", "-c", text]);
    let child = spawn(filter.program(), true, || exec.prepare(), || exec.go());
    let asked = child.answer();
    let names = asked.iter().map(|n| filter.lookup(n.nr, &n.args).and_then(|l| l.name).unwrap_or("?"));
    let names = names.collect();
    Some((child.end(), names))
}

#[test]
fn python_works_and_nothing_is_denied() {
    let text = "
import json, csv, re, datetime, decimal, sqlite3, threading, hashlib, statistics, asyncio, tempfile, os, shutil, signal
import select, socket, mmap, resource, time, zipfile, random, concurrent.futures, ctypes
home = tempfile.mkdtemp(); os.chdir(home)
try:
    c = sqlite3.connect('wal.db'); c.execute('pragma journal_mode=delete'); c.execute('create table t(a)')
    c.executemany('insert into t values (?)', [(i,) for i in range(100)]); c.commit(); c.close()
    assert list(concurrent.futures.ThreadPoolExecutor(4).map(lambda x: x * x, range(4))) == [0, 1, 4, 9]
    async def main():
        return await asyncio.to_thread(lambda: 42)
    assert asyncio.run(main()) == 42
    open('x', 'w').write('hi'); shutil.copy2('x', 'y'); os.link('x', 'z'); os.replace('z', 'zz'); os.chmod('x', 0o600)
    shutil.copytree(home, home + 'c'); shutil.rmtree(home + 'c'); shutil.disk_usage('.')
    fd = os.open('q', os.O_RDWR | os.O_CREAT); os.posix_fallocate(fd, 0, 4096)
    m = mmap.mmap(fd, 4096); m[0:2] = b'ab'; m.flush(); m.close()
    signal.signal(signal.SIGUSR1, lambda *a: None); os.kill(os.getpid(), signal.SIGUSR1)
    signal.raise_signal(signal.SIGUSR1); signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
    a, b = socket.socketpair(); a.settimeout(1); a.send(b'x'); assert b.recv(1) == b'x'; repr(a); select.select([a], [b], [], 0)
    resource.getrlimit(resource.RLIMIT_NOFILE); time.sleep(0.001); os.getrandom(4); os.uname(); os.cpu_count()
finally:
    shutil.rmtree(home)
";
    let filter = seccomp::shipped("default").unwrap();
    let Some((end, mut denied)) = script(&filter, text) else { return };
    assert_eq!(end, 0);
    // sqlite gives its files to the database's owner when it runs as root, which the script of a jail never does.
    denied.retain(|name| *name != "fchown");
    assert!(denied.is_empty(), "{denied:?}");
}

#[test]
fn python_works_without_threads_under_strict() {
    let text = "
import json, sqlite3, threading
c = sqlite3.connect(':memory:'); c.execute('create table t(a)'); c.close()
try:
    threading.Thread(target=print).start(); raise SystemExit(9)
except RuntimeError:
    raise SystemExit(7)
";
    let filter = seccomp::shipped("strict").unwrap();
    let Some((end, denied)) = script(&filter, text) else { return };
    assert_eq!((end, denied), (-7, vec!["clone"]));
}

/// A second exec of whatever the caller likes, by an absolute path that makes the kernel ignore the descriptor. 7: the other
/// program ran; 10 + errno: refused.
const SECOND_EXEC: &str = "
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
execveat = {'x86_64': 322, 'aarch64': 281}[platform.machine()]
path = PATH
words = (ctypes.c_char_p * 4)(b'python3', b'-c', b'raise SystemExit(7)', None)
envp = (ctypes.c_char_p * 1)(None)
libc.syscall(ctypes.c_long(execveat), ctypes.c_long(1023), path, words, envp, ctypes.c_long(0x1000))
raise SystemExit(10 + ctypes.get_errno())
";

#[test]
fn there_is_no_second_exec() {
    let Some(python) = python() else { return };
    let filter = seccomp::shipped("default").unwrap();
    let by_name = SECOND_EXEC.replace("PATH", &format!("ctypes.c_char_p({python:?}.encode())"));
    let (end, denied) = script(&filter, &by_name).unwrap();
    assert_eq!((end, denied), (-(10 + libc::EPERM), vec!["execveat"]));
    // The right address, at which nothing lies any more.
    let pinned = SECOND_EXEC.replace("PATH", &format!("ctypes.c_void_p({:#x})", seccomp::EXEC_PATH));
    let (end, denied) = script(&filter, &pinned).unwrap();
    assert_eq!((end, denied.len()), (-(10 + libc::EFAULT), 0));
}

#[test]
fn control_without_the_pinned_path_there_is_a_second_exec() {
    let Some(python) = python() else { return };
    let loose = r#"{"version": 1, "base": "BASE", "about": "the descriptor's number alone",
        "without": [{"call": "execveat", "reason": "control"}],
        "groups": [{"group": "loose", "action": "allow", "reason": "control", "calls": [
            {"call": "execveat", "when": [{"arg": "dirfd", "eq": "EXEC_FD"}, {"arg": "flags", "eq": "AT_EMPTY_PATH"}], "reason": "control"}]}]}"#;
    let refused = seccomp::load("loose.json", &loose.replace("BASE", "default")).unwrap_err().to_string();
    assert!(
        refused.contains("exec only dirfd=EXEC_FD, pathname=EXEC_PATH"),
        "the guarantee finds it: {refused}"
    );
    // Without the guarantees it compiles, and the hole is real.
    let source = seccomp::source_of("default").unwrap();
    let at = source.find("\"guarantees\"").unwrap();
    let text = format!("{} \"guarantees\": [] }}", &source[..at])
        .replace("{\"arg\": \"pathname\", \"eq\": \"EXEC_PATH\"},", "");
    assert!(!text.contains("EXEC_PATH"));
    let loose = seccomp::load("loose.json", &text).unwrap();
    let by_name = SECOND_EXEC.replace("PATH", &format!("ctypes.c_char_p({python:?}.encode())"));
    let (end, denied) = script(&loose, &by_name).unwrap();
    assert_eq!((end, denied.len()), (-7, 0), "the other program ran");
}
