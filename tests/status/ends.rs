//! The script ends by itself, is killed by the filter, or is cancelled.

use super::support::live::{READY, assert_gone};
use super::support::{Skill, feed};
use super::{assert_end, assert_error, assert_reached, run};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

#[test]
fn ok_is_exit_code_0_and_nothing_to_complain_of() {
    let ran = run("print('done')");
    assert_end(&ran, "ok", 0);
    assert_eq!(ran.stdout(), "done\n");
    assert_eq!((&ran.report["exit_code"], &ran.report["signal"]), (&json!(0), &Value::Null));
    assert_eq!(ran.report["error"], Value::Null);
    assert_eq!(ran.report["version"], 1);
    assert_reached(&ran, &[]);
}

#[test]
fn a_script_may_exit_with_any_number_and_the_document_says_that_it_was_the_script() {
    for code in [1, 2, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 130, 143, 255] {
        let ran = run(&format!("import sys\nsys.exit({code})"));
        assert_end(&ran, "script_error", code);
        assert_eq!(ran.report["exit_code"], code);
        assert_eq!(ran.report["error"], Value::Null);
        assert_reached(&ran, &[]);
    }
}

#[test]
fn an_exception_is_a_script_error_with_its_traceback() {
    let ran = run("raise ValueError('of my own')");
    assert_end(&ran, "script_error", 1);
    assert!(ran.script_stderr().contains("ValueError: of my own"));
    assert!(ran.script_stderr().contains("/skill/scripts/main.py"), "paths are the jail's");
}

#[test]
fn a_signal_that_the_script_sends_itself_is_signaled() {
    for (signal, name) in
        [(6, "os.abort()"), (9, "os.kill(os.getpid(), 9)"), (15, "os.kill(2, 15)"), (11, "os.kill(2, 11)")]
    {
        let ran = run(&format!("import os\n{name}"));
        assert_end(&ran, "signaled", 128 + signal);
        assert_eq!((&ran.report["signal"], &ran.report["exit_code"]), (&json!(signal), &Value::Null));
        assert_reached(&ran, &[]);
    }
}

/// SIGSYS always tells of the filter, because nobody inside can send it.
#[test]
fn sigsys_cannot_be_forged() {
    let ran = run(
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGSYS)\nexcept PermissionError:\n    print('refused', flush=True)\nos.abort()",
    );
    assert_end(&ran, "signaled", 134);
    assert_eq!(ran.stdout(), "refused\n");
    assert_eq!(ran.report["denials"][0]["syscall"], "kill");
}

#[test]
fn the_filters_kill_action_is_killed_by_policy() {
    if std::env::consts::ARCH != "x86_64" {
        eprintln!(
            "SKIP: x32 numbers exist on x86_64 only, and other machine code cannot be made in the jail"
        );
        return;
    }
    // getpid as an x32 call.
    let ran = run(
        "import ctypes\nprint('before', flush=True)\nctypes.CDLL(None).syscall(0x40000000 | 39)\nprint('after')",
    );
    assert_end(&ran, "killed_by_policy", 126);
    assert_error(&ran, "killed_by_policy", "kill action");
    assert_eq!(ran.report["signal"], 31);
    assert_eq!(ran.stdout(), "before\n");
}

#[test]
fn too_many_denied_calls_are_killed_by_policy() {
    let script = r"
import socket
for attempt in range(1000000):
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, attempt % 100)
    except PermissionError:
        pass
print('never')
";
    let ran = run(script);
    assert_end(&ran, "killed_by_policy", 126);
    assert_error(&ran, "too_many_denials", "denied calls");
    assert_eq!(ran.report["denials_total"], 4096);
    let denials = ran.report["denials"].as_array().unwrap();
    assert_eq!(denials.len(), 64, "as many as the policy keeps");
    assert_eq!(denials[0]["syscall"], "socket");
    assert_eq!(ran.stdout(), "");
    assert_reached(&ran, &["denials"]);
}

#[test]
fn a_few_denied_calls_are_the_scripts_business() {
    let ran = run(
        "import os\nfor _ in range(3):\n    try:\n        os.fork()\n    except PermissionError:\n        pass\nprint('on')",
    );
    assert_end(&ran, "ok", 0);
    assert_eq!(ran.report["denials_total"], 3);
    assert_eq!(ran.report["denials"][0]["count"], 3);
}

#[test]
fn a_signal_to_the_supervisor_cancels() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 143)] {
        let word = format!("cancel-{}-{code}-{}", std::process::id(), signal as i32);
        // A script that fends off what can be fended off.
        let skill = Skill::new(&format!(
            "{READY}\nimport signal, sys\nfor number in (1, 2, 15):\n    signal.signal(number, signal.SIG_IGN)\nprint('partial', flush=True)\nready()"
        ));
        let live = skill.run().args(["--session", &word]).start();
        live.ready();
        live.signal(signal);
        let ran = live.finish();
        assert_end(&ran, "cancelled", code);
        assert_error(&ran, "cancelled", &format!("signal {}", signal as i32));
        assert_eq!(ran.report["signal"], signal as i32);
        assert_eq!(ran.stdout(), "partial\n");
        assert_reached(&ran, &[]);
        assert_gone(&word);
    }
}

/// An impatient user's second and third ^C are the same wish: the document still comes, once.
#[test]
fn more_signals_are_the_same_wish() {
    let skill = Skill::new(&format!("{READY}\nready()"));
    let live = skill.run().start();
    live.ready();
    for _ in 0..3 {
        // The last ones may come when it has ended already.
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(live.pid()), Signal::SIGINT);
    }
    let output = live.output();
    // Either it ended by itself with its document, or a late signal found it when the jail was gone.
    if let Some(code) = output.status.code() {
        assert_eq!(code, 130);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.matches("\"status\":\"cancelled\"").count(), 1, "{text}");
    } else {
        use std::os::unix::process::ExitStatusExt as _;
        assert_eq!(output.status.signal(), Some(2));
    }
}

/// Without --json: stdout is the script's, byte for byte; the jail's message is a line of its own on stderr.
#[test]
fn streams_are_the_scripts_and_messages_a_line_of_their_own() {
    let skill = Skill::new(
        "import sys\nsys.stdout.buffer.write(bytes(range(256)))\nsys.stderr.write('no newline')\nsys.stderr.flush()\nsys.stdout.flush()\nimport time\ntime.sleep(60)",
    );
    let mut command = std::process::Command::new(super::support::SKILLJAIL);
    command
        .args(["run", "--timeout", "1s", "--runtime"])
        .arg(super::support::runtime())
        .arg(skill.path())
        .arg("main.py");
    let output = feed(command, b"{}");
    assert_eq!(output.status.code(), Some(124));
    assert_eq!(output.stdout, (0..=255).collect::<Vec<u8>>());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("no newline\nskilljail: "), "{stderr}");
    assert!(stderr.lines().last().unwrap().starts_with("hint: "), "{stderr}");
}
