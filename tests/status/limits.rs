//! Wall, cpu, disk; and memory and processes where only the program can know.

use super::support::{Skill, policy};
use super::{assert_end, assert_error, assert_reached, run};
use serde_json::json;

fn one_second(script: &str) -> super::Ran {
    Skill::new(script).run().args(["--timeout", "1s"]).go()
}

#[test]
fn timeout_whatever_the_script_does_against_it() {
    for (what, script) in [
        ("sleeps", "import time\nprint('x', flush=True)\ntime.sleep(60)"),
        (
            "ignores signals",
            "import signal, time\nfor n in (1, 2, 3, 14, 15):\n    signal.signal(n, signal.SIG_IGN)\nprint('x', flush=True)\nwhile True:\n    time.sleep(1)",
        ),
        (
            "hides in threads",
            "import threading, time\nprint('x', flush=True)\nfor _ in range(8):\n    threading.Thread(target=lambda: time.sleep(60)).start()",
        ),
        ("stops itself", "import os, signal\nprint('x', flush=True)\nos.kill(os.getpid(), signal.SIGSTOP)"),
        (
            "waits for stdin's end again and again",
            "import sys, time\nprint('x', flush=True)\nwhile True:\n    sys.stdin.read(1)\n    time.sleep(0.01)",
        ),
        ("closes its streams", "import os, time\nos.write(1, b'x\\n')\nos.closerange(0, 3)\ntime.sleep(60)"),
        (
            "never exits for holding a lock",
            "import threading\nprint('x', flush=True)\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
        ),
    ] {
        let ran = one_second(script);
        assert_end(&ran, "timeout", 124);
        assert_error(&ran, "timeout", "--timeout");
        assert_reached(&ran, &["wall"]);
        assert_eq!(ran.limit("wall")["value"], 1000, "{what}: the limit that was in force");
        assert_eq!(ran.stdout(), "x\n", "{what}: what it said before is kept");
        let wall = ran.report["usage"]["wall_ms"].as_u64().unwrap();
        assert!(wall >= 1000, "{what}: {wall}");
    }
}

#[test]
fn cpu_limit_is_the_kernels_kill_with_the_time_used_up() {
    let policy = policy(|policy| policy["limits"]["cpu"]["value"] = json!("1 s"));
    for script in [
        "while True:\n    pass",
        // Python sees SIGXCPU only where the soft limit lies below the hard one: here it has no say.
        "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True:\n    pass",
        "import threading\nfor _ in range(3):\n    threading.Thread(target=lambda: exec('while True: pass')).start()",
    ] {
        let ran = Skill::new(script).run().args(["--policy"]).args([policy.path()]).go();
        assert_end(&ran, "cpu_limit", 124);
        assert_error(&ran, "cpu_limit", "cpu");
        assert_reached(&ran, &["cpu"]);
        let cpu = ran.report["usage"]["cpu_ms"].as_u64().unwrap();
        assert!(cpu >= 900, "{cpu}");
    }
}

/// A SIGKILL of its own is not the kernel's for the cpu time.
#[test]
fn a_killed_script_with_time_left_is_no_cpu_limit() {
    let ran = run("import os\nos.kill(os.getpid(), 9)");
    assert_end(&ran, "signaled", 137);
    assert_eq!(ran.limit("cpu")["reached"], "no");
}

#[test]
fn disk_limit_by_bytes() {
    let ran = run(
        "n = 0\nwhile True:\n    with open(f'/workdir/{n}', 'wb') as file:\n        file.write(bytes(16 << 20))\n    n += 1",
    );
    assert_end(&ran, "disk_limit", 127);
    assert_error(&ran, "disk_limit", "full");
    assert_reached(&ran, &["workdir"]);
    assert_eq!(ran.report["usage"]["workdir_bytes"], 128 << 20);
    assert!(ran.script_stderr().contains("No space left on device"));
}

#[test]
fn disk_limit_by_inodes() {
    let ran = run("n = 0\nwhile True:\n    open(f'/tmp/{n}', 'w').close()\n    n += 1");
    assert_end(&ran, "disk_limit", 127);
    assert_reached(&ran, &["workdir_inodes"]);
}

#[test]
fn disk_limit_by_the_size_of_one_file() {
    let ran = run(
        "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nwith open('/workdir/f', 'wb') as file:\n    while True:\n        file.write(bytes(1 << 20))",
    );
    assert_end(&ran, "disk_limit", 127);
    assert_eq!(ran.report["signal"], 25);
    assert_reached(&ran, &["file"]);
}

/// Python ignores SIGXFSZ: only it saw the EFBIG, and nobody guesses.
#[test]
fn a_file_too_large_that_only_the_script_saw_is_its_own_error() {
    let ran =
        run("with open('/workdir/f', 'wb') as file:\n    while True:\n        file.write(bytes(1 << 20))");
    assert_end(&ran, "script_error", 1);
    assert!(ran.script_stderr().contains("File too large"));
    assert_eq!(ran.limit("file")["reached"], "unknown");
    assert_reached(&ran, &[]);
}

/// The workdir was full, and the script coped: nothing to report but the limit.
#[test]
fn a_full_workdir_with_a_script_that_ends_well_is_ok() {
    let ran = run(
        "try:\n    n = 0\n    while True:\n        with open(f'/workdir/{n}', 'wb', buffering=0) as file:\n            file.write(bytes(16 << 20))\n        n += 1\nexcept OSError:\n    print('coped')",
    );
    assert_end(&ran, "ok", 0);
    assert_reached(&ran, &["workdir"]);
}

#[test]
fn without_a_cgroup_memory_is_the_programs_own_testimony() {
    let ran = run("x = bytearray(1 << 30)");
    assert_end(&ran, "script_error", 1);
    assert!(ran.script_stderr().contains("MemoryError"));
    let memory = ran.limit("memory");
    assert_eq!((&memory["reached"], &memory["backend"]), (&json!("unknown"), &json!("rlimit")));
    // Control: what fits is had.
    assert_end(&run("x = bytearray(200 << 20)\nx[::4096] = b'x' * len(x[::4096])"), "ok", 0);
}

#[test]
fn without_a_cgroup_threads_are_the_programs_own_testimony() {
    let bomb = "import threading, time\nfor n in range(200):\n    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n    print(n + 2, flush=True)";
    let ran = run(bomb);
    assert_end(&ran, "script_error", 1);
    assert!(ran.script_stderr().contains("can't start new thread"));
    let threads = ran.limit("threads");
    assert_eq!((&threads["reached"], &threads["backend"]), (&json!("unknown"), &json!("rlimit")));
    // The policy's 64 with the first, or as many stacks as the address space holds.
    let most: u32 = ran.stdout().lines().last().unwrap().parse().unwrap();
    assert!((32..=64).contains(&most), "{most}");
}

/// A lower hard limit of the caller's stays in force, and the document says that one.
#[test]
fn the_lower_limit_of_the_caller_is_the_one_that_is_told() {
    let skill = Skill::new("while True:\n    pass");
    let run = skill.run();
    let ran = run.under("ulimit -t 1; ulimit -f 64; ulimit -v 400000").go();
    assert_end(&ran, "cpu_limit", 124);
    // Below it, because the kernel counts that one by the tick and gives no reason for its SIGKILL.
    assert_eq!(ran.limit("cpu")["value"], 800);
    // sh counts in blocks of 512 bytes, bash in KiB.
    let file = ran.limit("file")["value"].as_u64().unwrap();
    assert!(file == 64 << 9 || file == 64 << 10, "{file}");
    assert_eq!(ran.limit("memory")["value"], 400_000 << 10);
}
