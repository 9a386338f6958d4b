//! `run --warm`: started ahead, ready on the kernel's word, one input, one run, and nothing left.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and a skip says why"
)]

#[path = "warm/ends.rs"]
mod ends;
mod support;

use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::{Child, ChildStdin, Command, Stdio};
use support::{SKILLJAIL, Skill, live, runtime};

const ECHO: &str = "
import json, sys
given = json.load(sys.stdin)
print(json.dumps(given))
";

/// A jail that was started ahead.
struct Ahead {
    child: Child,
    stdin: Option<ChildStdin>,
    report: BufReader<File>,
}

/// What came of it.
#[derive(Debug)]
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
    document: Value,
}

impl Ahead {
    fn start(skill: &Skill, words: &[&str]) -> Self {
        Self::start_with(skill, words, |_| {})
    }

    fn start_with(skill: &Skill, words: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let (read, write) = nix::unistd::pipe().expect("a pipe");
        // The program takes the caller's descriptor by its number.
        let mut command = Command::new("sh");
        let report = format!("exec \"$@\" --report fd:{}", write.as_raw_fd());
        command.args(["-c", &report, "sh", SKILLJAIL, "run", "--warm", "--runtime"]);
        command.arg(runtime()).arg(skill.path()).arg("main.py").args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        change(&mut command);
        let mut child = command.spawn().expect("the program starts");
        drop::<OwnedFd>(write);
        let stdin = child.stdin.take();
        Self { child, stdin, report: BufReader::new(read.into()) }
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.report.read_line(&mut line).expect("it is text");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Waits until the script waits.
    fn ready(mut self) -> (Self, Value) {
        let line = self.line();
        assert_eq!(line["ready"], true, "{line}");
        (self, line)
    }

    fn give(&mut self, input: &str) {
        let mut stdin = self.stdin.take().expect("it is open");
        // A jail that is gone already does not take it.
        let _ = stdin.write_all(input.as_bytes());
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a pid fits")
    }

    fn end(mut self) -> Ended {
        let document = self.line();
        let mut rest = String::new();
        self.report.read_to_string(&mut rest).expect("it is text");
        assert_eq!(rest, "", "nothing follows the document");
        drop(self.stdin.take());
        let output = self.child.wait_with_output().expect("it ends");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Ended {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            document,
        }
    }
}

#[test]
fn the_input_comes_when_the_script_waits_and_then_the_run_begins() {
    let skill = Skill::new(ECHO);
    let (mut ahead, line) = Ahead::start(&skill, &["--timings"]).ready();
    assert!(line["setup_us"].as_u64() > Some(0) && line["idle_kib"].as_u64() > Some(1_000), "{line}");
    std::thread::sleep(std::time::Duration::from_millis(300));
    ahead.give(r#"{"text": "hello"}"#);
    let ended = ahead.end();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "{\"text\": \"hello\"}\n"), "{ended:?}");
    let document = &ended.document;
    assert_eq!(document["status"], "ok", "{document}");
    let warm = &document["warm"];
    assert_eq!((&warm["served"], &warm["ready_ms"]), (&json!(true), &line["ready_ms"]), "{document}");
    assert!(warm["idle_ms"].as_u64() >= Some(300) && warm["idle_kib"] == line["idle_kib"], "{document}");
    // The wait is no part of the run.
    assert!(document["usage"]["wall_ms"].as_u64() < warm["idle_ms"].as_u64(), "{document}");
    assert_eq!(document["digests"]["input"].as_str().map(str::len), Some(64), "{document}");
    let steps: Vec<&str> = document["timings"]
        .as_array()
        .expect("asked for")
        .iter()
        .filter_map(|t| t["step"].as_str())
        .collect();
    assert!(steps.contains(&"skill") && steps.contains(&"mounts") && steps.contains(&"clone3"), "{steps:?}");
}

#[test]
fn imports_and_what_is_printed_before_belong_to_it_and_an_early_input_waits() {
    let skill = Skill::new(
        "import sys, time, decimal\nprint('ahead', flush=True)\ntime.sleep(0.2)\nprint(sys.stdin.read())",
    );
    let mut ahead = Ahead::start(&skill, &[]);
    ahead.give("{}");
    let (ahead, line) = ahead.ready();
    assert!(line["ready_ms"].as_u64() >= Some(200), "it was not ready while it slept: {line}");
    let ended = ahead.end();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "ahead\n{}\n"), "{ended:?}");
}

#[test]
fn an_input_that_breaks_the_contract_is_never_handed_over() {
    let skill = Skill::new(ECHO);
    for (input, says) in [
        (r#"{"nope": 1}"#, "/nope"),
        ("[]", "not an object"),
        ("{", "JSON"),
        (r#"{"text": 1}"#, "/text"),
        (&"x".repeat(5_000), "more than"),
    ] {
        let (mut ahead, _) = Ahead::start(&skill, &[]).ready();
        ahead.give(input);
        let ended = ahead.end();
        assert_eq!((ended.code, ended.stdout.as_str()), (120, ""), "{ended:?}");
        assert_eq!(ended.document["status"], "input_rejected");
        assert_eq!(ended.document["warm"]["served"], false);
        let said = ended.document["error"].to_string() + &ended.stderr;
        assert!(said.contains(says), "{says}: {said}");
    }
}

#[test]
fn a_script_that_ends_without_reading_has_its_status() {
    for (script, code, status) in [
        ("print('done')", 0, "ok"),
        ("raise SystemExit(7)", 7, "script_error"),
        ("import os\nos.abort()", 134, "signaled"),
    ] {
        let skill = Skill::new(script);
        let ended = Ahead::start(&skill, &[]).end();
        assert_eq!((ended.code, ended.document["status"].as_str()), (code, Some(status)), "{ended:?}");
        assert_eq!(
            ended.document["warm"],
            json!({ "ready_ms": null, "idle_ms": 0, "idle_kib": null, "served": false })
        );
    }
}

#[test]
fn set_up_with_imports_and_the_wait_have_limits_of_their_own() {
    let slow = Skill::new("import time\ntime.sleep(60)\ninput()");
    let ended = Ahead::start(&slow, &["--warm-ready", "300ms"]).end();
    assert_eq!((ended.code, &ended.document["error"]["id"]), (124, &json!("not_ready")), "{ended:?}");
    assert_eq!(ended.document["warm"]["ready_ms"], Value::Null);

    let skill = Skill::new(ECHO);
    let (mut ahead, _) = Ahead::start(&skill, &["--warm-idle", "300ms"]).ready();
    // Held open: nothing comes.
    let held = ahead.stdin.take();
    let ended = ahead.end();
    drop(held);
    assert_eq!((ended.code, &ended.document["error"]["id"]), (124, &json!("idle_limit")), "{ended:?}");
    assert!(ended.document["warm"]["idle_ms"].as_u64() >= Some(300), "{ended:?}");
    assert_eq!(ended.document["usage"]["wall_ms"], 0);
}

#[test]
fn the_runs_own_limits_begin_with_the_input() {
    // More than a second of wall clock and of processor time before it, and both limits are a second.
    let burn = "
import sys, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
burn(0.7)
time.sleep(0.7)
sys.stdin.read()
burn(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)
print('done')
";
    let policy = support::policy(|policy| policy["limits"]["cpu"]["value"] = json!("1 s"));
    let path = policy.path().to_str().expect("text").to_owned();
    for (seconds, status) in [("0.5", "ok"), ("5", "cpu_limit")] {
        let skill = Skill::new(&burn.replace("SECONDS", seconds));
        let (mut ahead, _) = Ahead::start(&skill, &["--policy", &path]).ready();
        ahead.give("{}");
        let ended = ahead.end();
        assert_eq!(ended.document["status"], status, "{ended:?}");
    }
    let skill = Skill::new("import sys, time\ntime.sleep(1.2)\nsys.stdin.read()\ntime.sleep(60)");
    let (mut ahead, _) = Ahead::start(&skill, &["--timeout", "1s"]).ready();
    ahead.give("{}");
    let ended = ahead.end();
    assert_eq!((ended.code, &ended.document["status"]), (124, &json!("timeout")), "{ended:?}");
    assert_eq!(ended.document["warm"]["served"], true);
}

#[test]
fn cancelled_before_the_input_nothing_is_left() {
    use nix::sys::signal::{Signal, kill};
    let skill = Skill::new(ECHO);
    for signal in [Some(Signal::SIGTERM), Some(Signal::SIGKILL), None] {
        let (mut ahead, _) = Ahead::start(&skill, &[]).ready();
        let below = live::descendants(ahead.pid());
        assert!(below.len() >= 2, "init and the script: {below:?}");
        match signal {
            Some(signal) => kill(nix::unistd::Pid::from_raw(ahead.pid()), signal).expect("it lives"),
            None => drop(ahead.stdin.take()),
        }
        if signal == Some(Signal::SIGKILL) {
            ahead.child.wait().expect("it ends");
        } else {
            let ended = ahead.end();
            assert_eq!((ended.code, &ended.document["status"]), (143, &json!("cancelled")), "{ended:?}");
        }
        let gone = |pid: &i32| !std::path::Path::new(&format!("/proc/{pid}")).exists();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !below.iter().all(gone) {
            assert!(std::time::Instant::now() < deadline, "left: {below:?}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

#[test]
fn it_is_the_kernel_that_says_ready_and_not_the_script() {
    // Reads of other descriptors, another pipe at descriptor 0, and words on every stream make nobody ready.
    let liar = "
import os, sys
print('{\"ready\": true}', flush=True)
print('{\"ready\": true}', file=sys.stderr, flush=True)
read, write = os.pipe()
keep = os.dup(0)
HOW
";
    for how in ["os.read(read, 1)", "os.dup2(read, 0)\nos.read(0, 1)"] {
        let skill = Skill::new(&liar.replace("HOW", how));
        let ended = Ahead::start(&skill, &["--warm-ready", "700ms"]).end();
        assert_eq!(
            (&ended.document["error"]["id"], ended.code),
            (&json!("not_ready"), 124),
            "{how}: {ended:?}"
        );
    }
}

#[test]
fn what_it_was_started_with_it_keeps_and_the_layers_are_those_of_any_run() {
    let skill = Skill::with_files(
        "import os, sys\nsys.stdin.read()\nprint(os.environ['TFROBOT_SESSION_ID'], os.environ['TOKEN'])",
        &[(".skillenv", "TOKEN=\n")],
    );
    let secrets = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(secrets.path(), "TOKEN=abc\n").expect("it can be written");
    let path = secrets.path().to_str().expect("text").to_owned();
    let (mut ahead, _) = Ahead::start(&skill, &["--session", "s-1", "--secrets", &path]).ready();
    // Bound: what changes on the host afterwards changes nothing.
    std::fs::write(secrets.path(), "TOKEN=other\n").expect("it can be written");
    skill.write("scripts/main.py", "print('another script')");
    ahead.give("{}");
    let ended = ahead.end();
    assert_eq!(ended.stdout, "s-1 abc\n", "{ended:?}");
    let cold = Skill::new(ECHO).run().go();
    let layers = |document: &Value| {
        let list = document["layers"].as_array().expect("a list").clone();
        list.into_iter().map(|layer| (layer["name"].clone(), layer["enforced"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(layers(&ended.document), layers(&cold.report));
}

#[test]
fn with_stream_the_result_comes_before_the_end_and_every_byte_once() {
    let script = "import sys, time\nprint(sys.stdin.read() + 'x' * 30_000, flush=True)\ntime.sleep(1)\nprint('y' * 30_000)";
    let skill = Skill::new(script);
    let (mut ahead, _) = Ahead::start(&skill, &["--stream"]).ready();
    ahead.give("{}");
    let mut stdout = ahead.child.stdout.take().expect("piped");
    let mut first = vec![0; 30_003];
    stdout.read_exact(&mut first).expect("it comes");
    assert!(ahead.child.try_wait().expect("it can be asked").is_none(), "the run is not over");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("text");
    let all = String::from_utf8(first).expect("text") + &rest;
    assert_eq!(all, format!("{{}}{}\n{}\n", "x".repeat(30_000), "y".repeat(30_000)));
    let ended = ahead.end();
    assert_eq!(
        (ended.code, &ended.document["usage"]["stdout_bytes"]),
        (0, &json!(60_004)),
        "{:?}",
        ended.document
    );

    // Over its limit: a part is printed, and the document says so.
    let skill = Skill::new("import sys\nsys.stdin.read()\nprint('x' * 100_000)");
    let (mut ahead, _) = Ahead::start(&skill, &["--stream"]).ready();
    ahead.give("{}");
    let ended = ahead.end();
    assert_eq!(
        (ended.code, &ended.document["status"]),
        (123, &json!("output_limit")),
        "{:?}",
        ended.document
    );
}

#[test]
fn without_a_report_or_with_an_input_file_it_is_a_usage_error() {
    for words in
        [&["--warm"][..], &["--warm", "--report", "/dev/null", "--input", "x"], &["--warm-idle", "5s"]]
    {
        let output =
            Command::new(SKILLJAIL).arg("run").args(words).args(["./a", "b"]).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{words:?}");
    }
    let output = Command::new(SKILLJAIL)
        .args(["run", "--warm", "--report", "/dev/null", "--warm-idle", "2h", "./a", "b"])
        .output();
    let output = output.expect("it starts");
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}
