//! What the pinned Python's start-up module spares at the interpreter's end costs no byte, no exit code and no finalizer
//! that Python promises.

use super::support::{Ran, Skill};

fn run(script: &str) -> Ran {
    Skill::new(script).run().go()
}

fn stdout(ran: &Ran) -> &str {
    ran.report["stdout"]["text"].as_str().expect("text")
}

/// Put after a script: what is left in the workdir is told by `workdir_bytes`, so the bytes are counted in pages.
fn bytes_of_workdir(script: &str) -> u64 {
    let ran = run(script);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.report["usage"]["workdir_bytes"].as_u64().expect("a number")
}

#[test]
fn what_an_open_file_still_buffers_is_written_also_in_a_cycle() {
    let empty = bytes_of_workdir("pass");
    for script in [
        // By reference counts alone.
        "f = open('x', 'w'); f.write('x' * 100)",
        // Only a collection finds these: they hold each other. (Of a binary file in garbage that is not reachable any more
        // Python itself loses the bytes: it closes the descriptor first.)
        "class A: pass\na = A(); a.me = a; a.f = open('x', 'w'); a.f.write('x' * 100)",
        "class A: pass\na = A(); a.me = a; a.f = open('x', 'wb'); a.f.write(b'x' * 100)",
        "import gzip\nclass A: pass\na = A(); a.me = a; a.f = gzip.open('x', 'wb'); a.f.write(b'x' * 100)",
        "import io\nclass F(io.FileIO):\n    def close(self):\n        if not self.closed: self.write(b'x')\n        super().close()\nclass A: pass\na = A(); a.me = a; a.f = F('x', 'w')",
        // A finalizer of the script's own, in a cycle.
        "class A:\n    def __del__(self, open=open): open('x', 'w').write('x' * 100)\na = A(); a.me = a",
        // A standard stream closed does not hide a file that took its place.
        "import sys\nsys.stdin.close(); sys.stdin = sys.__stdin__ = None\nclass A: pass\na = A(); a.me = a; a.f = open('x', 'w'); a.f.write('x' * 100)",
    ] {
        assert!(bytes_of_workdir(script) > empty, "lost: {script}");
    }
}

#[test]
fn the_streams_and_the_order_of_the_end_are_pythons_own() {
    let ran = run("
import atexit, sys
atexit.register(lambda: print('first registered'))
atexit.register(lambda: print('last registered'))
class A:
    def __del__(self): print('counted')
a = A()
print('no newline', end=' ')
");
    assert_eq!(
        (ran.code, stdout(&ran)),
        (0, "no newline last registered\nfirst registered\ncounted\n"),
        "{ran:?}"
    );
    // In a script that leaves nothing with a finalizer the end is the short one, and stdout is flushed all the same.
    let ran =
        run("import gc, atexit\natexit.register(lambda: print(gc.get_freeze_count()))\nprint('x' * 5000)");
    assert_eq!(stdout(&ran).len(), 5_003, "frozen only after everything that the script registered: {ran:?}");
}

#[test]
fn exit_codes_are_pythons_own() {
    for (script, code) in [
        ("pass", 0),
        ("import sys\nsys.exit(3)", 3),
        ("raise SystemExit(4)", 4),
        ("exit(5)", 5),
        ("import sys\nsys.exit('words')", 1),
        ("1 / 0", 1),
        ("import os\nos._exit(6)", 6),
        ("import threading, sys\nthreading.Thread(target=lambda: None).start()\nsys.exit(7)", 7),
    ] {
        let ran = run(script);
        assert_eq!(ran.code, code, "{script}: {ran:?}");
    }
}

#[test]
fn garbage_is_still_collected_while_the_script_runs() {
    let ran = run("
import gc, weakref
class A: pass
alive = []
for _ in range(200_000):
    a = A(); a.me = a
    alive.append(weakref.ref(a))
print(sum(ref() is not None for ref in alive) < 150_000, gc.isenabled(), gc.get_freeze_count())
");
    assert_eq!(stdout(&ran), "True True 0\n", "{ran:?}");
}
