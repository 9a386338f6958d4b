//! stdout and stderr: their caps, to the byte.

use super::support::{SKILLJAIL, Skill, feed, runtime};
use super::{assert_end, assert_error, assert_reached, run};
use std::process::Command;

#[test]
fn exactly_the_cap_is_fine_and_one_byte_more_is_output_limit() {
    let ran = run("import sys\nsys.stdout.write('x' * 65536)");
    assert_end(&ran, "ok", 0);
    assert_eq!(ran.stdout().len(), 65536);
    assert_eq!(ran.limit("stdout")["reached"], "no");
    let ran = run("import sys\nsys.stdout.write('x' * 65537)");
    assert_end(&ran, "output_limit", 123);
    assert_error(&ran, "output_limit", "/workdir/out");
    assert_reached(&ran, &["stdout"]);
    assert_eq!(ran.stdout(), "", "an output over its limit is not half printed");
    assert!(ran.report["usage"]["stdout_bytes"].as_u64().unwrap() > 65536);
}

#[test]
fn a_flood_ends_at_the_cap() {
    for stream in ["stdout", "stderr"] {
        let ran = run(&format!("import sys\nwhile True:\n    sys.{stream}.write('x' * 65536)"));
        assert_end(&ran, "output_limit", 123);
        assert_reached(&ran, &[stream]);
        let bytes = ran.report["usage"][format!("{stream}_bytes")].as_u64().unwrap();
        assert!(bytes <= (1 << 20) + (128 << 10), "{stream}: no more than the cap and two chunks: {bytes}");
    }
}

#[test]
fn without_json_nothing_of_it_is_printed() {
    let skill = Skill::new("import sys\nsys.stdout.write('x' * 70000)");
    let mut command = Command::new(SKILLJAIL);
    command.args(["run", "--runtime"]).arg(runtime()).arg(skill.path()).arg("main.py");
    let output = feed(command, b"{}");
    assert_eq!(output.status.code(), Some(123));
    assert_eq!(output.stdout, b"");
    assert!(
        String::from_utf8(output.stderr).unwrap().starts_with("skilljail: more than 65536 bytes of stdout")
    );
}

#[test]
fn of_stderr_the_tail_is_kept() {
    let ran = run("import sys\nfor n in range(100000):\n    sys.stderr.write(f'{n:06}\\n')\nprint('on')");
    assert_end(&ran, "ok", 0);
    assert_eq!(ran.script_stderr().len(), 64 << 10);
    assert!(ran.script_stderr().ends_with("099998\n099999\n"));
    assert_eq!(ran.report["usage"]["stderr_bytes"], 700_000);
}

#[test]
fn bytes_that_are_no_text_are_told_in_base64() {
    let ran = run("import sys\nsys.stdout.buffer.write(b'\\xff\\x00')\nsys.stderr.buffer.write(b'\\xfe')");
    assert_end(&ran, "ok", 0);
    assert_eq!(ran.report["stdout"], serde_json::json!({"encoding": "base64", "text": "/wA="}));
    assert_eq!(ran.report["stderr"], serde_json::json!({"encoding": "base64", "text": "/g=="}));
}
