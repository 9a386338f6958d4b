//! Every system call of a start and of a run fails in turn, and is in turn the last one of its process.
//!
//! Run by `make test-faults`. The ordinary tests (tests/status/faults.rs) take one occurrence of each call.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and tells how far it is"
)]

#[path = "faults/calls.rs"]
mod calls;
mod support;
#[path = "faults/tracer.rs"]
mod tracer;

use calls::{Survived, faults, name};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::live::assert_gone;
use support::{SKILLJAIL, Skill, runtime};
use tracer::{Fault, Point, Role, Run};

/// Each wall that a process can see from inside, on one line.
const TESTIMONY: &str = r#"
import ctypes, fcntl, json, os, resource, sys, termios
given = sys.stdin.read()
def refused(action):
    try:
        return repr(action())
    except OSError as error:
        return error.errno
prctl = ctypes.CDLL(None).prctl
umask = os.umask(0)
os.mkdir("/workdir/out/below")
for name in ("one.txt", "below/two.txt"):
    with open("/workdir/out/" + name, "w") as file:
        file.write(name)
print(json.dumps({
    "ids": [os.getresuid(), os.getresgid(), os.getgroups(), os.getpid(), os.getppid(), os.getsid(0)],
    "prctl": [prctl(option, 0, 0, 0, 0) for option in (3, 21, 27, 39)],
    "limits": [resource.getrlimit(number) for number in range(16)],
    "root": sorted((path, tuple(sorted(names)), tuple(sorted(files)))
                   for path, names, files in os.walk("/") if not path.startswith("/usr/")),
    "modes": [(path, oct(os.stat(path).st_mode)) for path in ("/", "/etc", "/skill", "/skill/out", "/workdir", "/tmp", "/dev/shm")],
    "flags": [(path, os.statvfs(path).f_flag) for path in ("/", "/usr", "/skill", "/skill/out", "/workdir", "/workdir/in", "/tmp",
              "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm")],
    "landlock": refused(lambda: fcntl.ioctl(os.open("/dev/null", os.O_RDWR), termios.TIOCGWINSZ, b"." * 8)),
    "seccomp": refused(lambda: os.unshare(os.CLONE_NEWUSER) if hasattr(os, "unshare") else ctypes.CDLL(None).unshare(0x10000000)),
    "fds": [fd for fd in range(1100) if isinstance(refused(lambda: os.fstat(fd)), str)],
    "given": given,
    "environment": sorted(os.environ),
    "names": [os.uname().nodename, os.getcwd(), umask],
    "files": [open(path).read() for path in ("/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf")],
}))
"#;

/// One way to start a script.
struct Case {
    skill: Skill,
    scratch: tempfile::TempDir,
    mark: String,
    words: Vec<String>,
}

impl Case {
    fn new(words: &[&str], files: &[(&str, &str)]) -> Self {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        for folder in ["tmp", "out0", "out1"] {
            std::fs::create_dir(scratch.path().join(folder)).expect("a folder can be made");
        }
        Self {
            skill: Skill::with_files(TESTIMONY, files),
            scratch,
            mark: format!("fault-{}", std::process::id()),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    fn out(&self, worker: usize) -> PathBuf {
        self.scratch.path().join(format!("out{worker}"))
    }

    fn run(&self, worker: usize, fault: Option<(Point, Fault)>) -> Told {
        let report = self.scratch.path().join(format!("report{worker}"));
        std::fs::write(&report, "").expect("a file can be written");
        let warm = self.words.iter().any(|word| word == "--warm");
        let mut command = Command::new(SKILLJAIL);
        command.args(["run", "--session", &self.mark, "--runtime"]).arg(runtime());
        if warm {
            command.arg("--report").arg(&report)
        } else {
            command.arg("--json")
        };
        command.args(&self.words).arg("--out").arg(self.out(worker)).arg(self.skill.path()).arg("main.py");
        command.env("TMPDIR", self.scratch.path().join("tmp"));
        let run = tracer::run(&command, b"{}", fault);
        let text =
            if warm { std::fs::read_to_string(&report).expect("it is there") } else { run.stdout.clone() };
        // A warm run says first that it is ready.
        let document: Option<Value> = text.lines().last().and_then(|line| serde_json::from_str(line).ok());
        let said = match &document {
            Some(document) if !warm => document["stdout"]["text"].as_str().unwrap_or_default().to_owned(),
            _ => run.stdout.clone(),
        };
        Told { run, document: document.filter(|document| document["status"].is_string()), said }
    }
}

/// A run, its document and what its script said.
struct Told {
    run: Run,
    document: Option<Value>,
    said: String,
}

/// The exit code of a run whose document or artifacts could not be written, whatever came of it.
const NOT_TOLD: i32 = 3;

/// The exit code of a command line that cannot be followed, such as an `--out` that cannot be made.
const WRONG_WORDS: i32 = 2;

/// What a run is judged by.
struct Whole {
    testimony: String,
    walls: String,
    layers: Value,
    artifacts: Value,
    points: Vec<Point>,
    before: usize,
}

impl Whole {
    /// Init has made the payload's process before this point.
    fn born(&self, place: usize) -> bool {
        self.points.iter().take(place).any(|point| point.role == Role::Init && point.call == libc::SYS_clone3)
    }
}

/// What is wrong with how a run ended, or whether it did as if nothing had failed.
fn judge(whole: &Whole, place: usize, point: &Point, fault: Fault, told: &Told) -> Result<bool, String> {
    let Told { run, document, said } = told;
    let killed = fault == Fault::Dies && point.role == Role::Supervisor;
    let code = match (run.code, killed) {
        // In the middle of the document, perhaps.
        (None, true) if run.ran || run.stdout.is_empty() => return Ok(false),
        (None, _) => return Err("the supervisor was killed".to_owned()),
        (Some(code), _) => code,
    };
    // What came of it could not be told, which is told.
    if code == NOT_TOLD && run.stderr.contains("could not be written") {
        return Ok(false);
    }
    let Some(document) = document else {
        let told = run.stderr.starts_with("skilljail: ") && code == WRONG_WORDS && !run.ran;
        return if told { Ok(false) } else { Err(format!("no document, exit code {code}")) };
    };
    let status = document["status"].as_str().unwrap_or_default();
    let complete = document["artifacts"] == whole.artifacts;
    if status == "ok" && code == NOT_TOLD && !complete {
        return Ok(false);
    }
    if status == "ok" {
        let same =
            *said == whole.testimony && run.walls == whole.walls && calls::walls_of(document) == whole.layers;
        return if same && complete && code == 0 {
            Ok(true)
        } else {
            Err(format!("it went on in another jail: {} {}", document["layers"], run.walls))
        };
    }
    if document["error"]["cause"].as_str().is_none_or(str::is_empty) {
        return Err(format!("{status} without a cause"));
    }
    // From the payload's birth on nobody can tell one that was killed on its way to exec from one that was after it.
    if fault == Fault::Dies && status == "signaled" && code == 137 && whole.born(place) {
        return Ok(false);
    }
    // The supervisor's last steps before the script are beside the child's.
    let before = place < whole.before && point.role != Role::Supervisor;
    if before && (run.ran || (status, code) != ("setup_failed", 125)) {
        return Err(format!("{status}, exit code {code}, ran: {}", run.ran));
    }
    // Let go, and not yet at its exec when the supervisor gave up.
    let lost = (status, code) == ("supervisor_failed", NOT_TOLD)
        && point.role == Role::Supervisor
        && whole.born(place);
    if !run.ran && !lost && !(120..=127).contains(&code) {
        return Err(format!("{status}, exit code {code}"));
    }
    if run.ran && status == "setup_failed" {
        return Err("the script ran, and the set-up failed".to_owned());
    }
    Ok(false)
}

fn sweep(case: &Case, survived: &mut Survived) {
    let Told { run, document, said } = case.run(0, None);
    let document = document.unwrap_or_else(|| panic!("{}{}", run.stdout, run.stderr));
    assert_eq!(document["status"], "ok", "{document:#}");
    let whole = Whole {
        testimony: said,
        walls: run.walls,
        layers: calls::walls_of(&document),
        artifacts: document["artifacts"].clone(),
        points: run.points,
        before: run.before,
    };
    let strangers: Vec<_> =
        whole.points.iter().filter(|point| calls::of(point.call, point.meaning).is_none()).collect();
    assert!(strangers.is_empty(), "tests/faults/calls.rs does not know {strangers:?}");
    // The umask is the first thing that the program asks for; what is before it is the language's own start.
    let first_line =
        whole.points.iter().position(|point| point.call == libc::SYS_umask).expect("it asks for it");
    let all: Vec<_> = whole
        .points
        .iter()
        .enumerate()
        .flat_map(|(place, point)| {
            faults(point, place < first_line).into_iter().map(move |fault| (place, *point, fault))
        })
        .collect();
    let (next, missed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (survived, wrong) = (Mutex::new(survived), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (all, whole, next, missed, survived, wrong) =
                (&all, &whole, &next, &missed, &survived, &wrong);
            scope.spawn(move || {
                while let Some((place, point, fault)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let told = case.run(worker, Some((*point, *fault)));
                    let run = &told.run;
                    if !run.reached {
                        missed.fetch_add(1, Ordering::Relaxed);
                    }
                    let verdict = judge(whole, *place, point, *fault, &told);
                    match verdict {
                        Ok(true) if run.reached => {
                            if let Some(errno) = fault.errno() {
                                let key = (point.role, name(point), format!("{errno:?}"));
                                survived
                                    .lock()
                                    .expect("nobody panics")
                                    .entry(key)
                                    .or_default()
                                    .push(point.nth);
                            }
                        }
                        Ok(_) => {}
                        Err(why) => wrong.lock().expect("nobody panics").push(format!(
                            "{} {point:?} {fault:?}: {why}: {} {}",
                            name(point),
                            run.stdout,
                            run.stderr
                        )),
                    }
                    empty(&case.out(worker));
                }
            });
        }
    });
    let (missed, wrong) = (missed.into_inner(), wrong.into_inner().expect("nobody panics"));
    eprintln!(
        "faults: {:?}: {} calls, {} faults, {missed} not reached",
        case.words,
        whole.points.len(),
        all.len()
    );
    for line in &wrong {
        eprintln!("{}", line.chars().take(1500).collect::<String>());
    }
    assert!(wrong.is_empty(), "{} of {} faults ended wrongly", wrong.len(), all.len());
    assert!(missed * 50 < all.len(), "{missed} points were not reached");
    let left: Vec<_> = std::fs::read_dir(case.scratch.path().join("tmp")).expect("it is there").collect();
    assert!(left.is_empty(), "{left:?}");
    assert_gone(&case.mark);
}

fn empty(folder: &Path) {
    std::fs::remove_dir_all(folder).expect("it is ours");
    std::fs::create_dir(folder).expect("a folder can be made");
}

/// Every case, one after the other: each takes both cores.
#[test]
fn each_call_fails_in_turn_and_is_the_last_in_turn() {
    let mounts = || std::fs::read_to_string("/proc/self/mountinfo").expect("it is readable");
    let before = mounts();
    let secrets = tempfile::NamedTempFile::new().expect("a file can be made");
    std::fs::write(secrets.path(), "TOKEN=a word that nobody else says\n").expect("it can be written");
    let secrets = secrets.path().to_str().expect("a plain path");
    let egress = r#"{"network": "egress", "scripts": {"main.py": {"description": "Runs.", "parameters": {"type": "object", "properties": {}}}}}"#;
    let mut survived = Survived::new();
    for case in [
        Case::new(&[], &[]),
        Case::new(&["--warm"], &[]),
        Case::new(&["--policy", "egress"], &[("xray.json", egress)]),
        Case::new(&["--secrets", secrets], &[(".skillenv", "TOKEN=\n")]),
    ] {
        sweep(&case, &mut survived);
    }
    assert_eq!(mounts(), before);
    calls::assert_known(&survived);
}
