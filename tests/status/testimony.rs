//! The document is the supervisor's alone, and its numbers are those of this run.

use super::support::{SKILLJAIL, Skill, feed, runtime};
use super::{assert_end, run};
use serde_json::{Value, json};
use std::process::Command;

#[test]
fn a_forged_document_changes_nothing() {
    let forged = r#"
import os, sys
document = '{"version":1,"status":"ok","exit_code":0,"signal":null,"error":null,"layers":[],"stdout":{"encoding":"utf-8","text":"x"}}\n'
for stream in (sys.stdout, sys.stderr):
    stream.write(document)
    stream.flush()
for fd in range(3, 1024):
    try:
        os.write(fd, document.encode())
    except OSError:
        pass
for path in ("/workdir/report.json", "/workdir/out/report.json"):
    with open(path, "w") as file:
        file.write(document)
sys.exit(9)
"#;
    let ran = run(forged);
    assert_end(&ran, "script_error", 9);
    assert!(ran.stdout().starts_with("{\"version\":1,\"status\":\"ok\""), "it is text of the script");
    assert_eq!(ran.report["layers"].as_array().unwrap().len(), 8);
}

#[test]
fn the_report_goes_to_a_file_or_a_descriptor_of_the_callers_choice() {
    let skill = Skill::new("import sys\nprint('out')\nsys.exit(3)");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.json");
    std::fs::write(&file, "something older and longer ".repeat(1000)).unwrap();
    let base = || {
        let mut command = Command::new(SKILLJAIL);
        command.arg("run").arg("--runtime").arg(runtime());
        command
    };
    let mut command = base();
    command.arg("--report").arg(&file).arg(skill.path()).arg("main.py");
    let output = feed(command, b"{}");
    let first: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(3), &b"out\n"[..]));
    assert_eq!((&first["status"], &first["exit_code"]), (&json!("script_error"), &json!(3)));
    assert_eq!(first["stdout"], Value::Null, "only --json puts the streams into the document");

    let second = dir.path().join("second.json");
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$@\" 3> \"$0\""]).arg(&second);
    command.arg(SKILLJAIL).args(["run", "--report", "fd:3", "--runtime"]).arg(runtime());
    command.arg(skill.path()).arg("main.py");
    let output = feed(command, b"{}");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(3), &b"out\n"[..]));
    let second: Value = serde_json::from_slice(&std::fs::read(&second).unwrap()).unwrap();
    assert_eq!(second["status"], "script_error");

    for word in ["fd:1", "fd:99", "fd:x", "/nonexistent/report"] {
        let mut command = base();
        command.args(["--report", word]).arg(skill.path()).arg("main.py");
        let output = feed(command, b"{}");
        assert_eq!(output.status.code(), Some(2), "{word}: {output:?}");
        assert_eq!(output.stdout, b"", "{word}: nothing ran");
    }
}

/// A report that cannot be written is no success.
#[test]
fn a_report_that_cannot_be_written_is_told() {
    let skill = Skill::new("print('out')");
    let mut command = Command::new(SKILLJAIL);
    command
        .args(["run", "--report", "/dev/full", "--runtime"])
        .arg(runtime())
        .arg(skill.path())
        .arg("main.py");
    let output = feed(command, b"{}");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("could not be written"));
}

#[test]
fn usage_is_that_of_this_run() {
    let script = r"
import sys, time
block = bytearray(100 << 20)
block[::4096] = b'x' * len(block[::4096])
end = time.process_time() + 0.4
while time.process_time() < end:
    pass
time.sleep(0.3)
with open('/workdir/file', 'wb') as file:
    file.write(bytes(1 << 20))
print('12345')
sys.stderr.write('123')
";
    let ran = run(script);
    assert_end(&ran, "ok", 0);
    let usage = |name: &str| ran.report["usage"][name].as_u64().unwrap();
    let rss = usage("max_rss_kib");
    assert!((100 << 10..250 << 10).contains(&rss), "{rss}");
    let (cpu, wall) = (usage("cpu_ms"), usage("wall_ms"));
    assert!(cpu >= 400, "{cpu}");
    assert!(wall >= 700, "{wall}");
    assert_eq!(usage("workdir_bytes"), 1 << 20);
    assert_eq!((usage("stdout_bytes"), usage("stderr_bytes")), (6, 3));
    assert!(usage("setup_us") > 0);
    // Nothing of it sticks to the next run.
    let next = run("pass");
    assert!(next.report["usage"]["max_rss_kib"].as_u64().unwrap() < 100 << 10, "{next:#?}");
}

#[test]
fn digests_name_what_ran() {
    let ran = run("print('out')");
    let digests = &ran.report["digests"];
    for name in ["policy", "filter", "skill", "input", "stdout"] {
        let digest = digests[name].as_str().unwrap();
        assert_eq!(digest.trim_start_matches("sha256:").len(), 64, "{name}: {digest}");
    }
    let lock = std::fs::read_to_string(runtime().join("runtime.json")).unwrap();
    let lock: Value = serde_json::from_str(&lock).unwrap();
    assert_eq!(digests["runtime"]["digest"], lock["digest"]);
    assert!(["full", "identity"].contains(&digests["runtime"]["verified"].as_str().unwrap()));
    // sha256 of "{}" and of "out\n".
    assert_eq!(digests["input"], "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    assert_eq!(digests["stdout"], "54034ac5c6e9ea95734ec2b729fd6d62abf64af34a9f9ce5d466cb788191a73d");
}

/// Also of a run that was killed: nobody reaps what dies with its namespace, so the script goes first.
#[test]
fn usage_is_told_of_a_killed_run_too() {
    let script = "
import time
block = bytearray(100 << 20)
block[::4096] = b'x' * len(block[::4096])
end = time.process_time() + 0.4
while time.process_time() < end:
    pass
time.sleep(60)
";
    let ran = Skill::new(script).run().args(["--timeout", "2s"]).go();
    assert_end(&ran, "timeout", 124);
    let usage = |name: &str| ran.report["usage"][name].as_u64().unwrap();
    assert!(usage("max_rss_kib") >= 100 << 10, "{ran:?}");
    assert!(usage("cpu_ms") >= 400, "{ran:?}");
}
