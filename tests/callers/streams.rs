//! stdin that nobody reads, that never ends, that is huge; stdout that nobody reads; words that are out of bounds.

use super::support::live::{Live, READY, assert_gone};
use super::support::{Ran, SKILLJAIL, Skill, feed, policy, runtime};
use super::word;
use nix::sys::signal::Signal;
use serde_json::json;
use std::process::{Command, Stdio};

fn command(skill: &Skill, words: &[&str]) -> Command {
    let mut command = Command::new(SKILLJAIL);
    command.args(["run", "--json", "--runtime"]).arg(runtime()).args(words).arg(skill.path()).arg("main.py");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A policy that takes much input, and a skill without a contract.
fn large(script: &str) -> (Skill, tempfile::NamedTempFile, Vec<u8>) {
    let policy = policy(|policy| {
        policy["contract"] = json!("optional");
        policy["limits"]["input"]["value"] = json!("8 MiB");
    });
    let skill = Skill::new(script);
    std::fs::remove_file(skill.path().join("xray.json")).unwrap();
    let input = format!(r#"{{"text": "{}"}}"#, "x".repeat(4 << 20)).into_bytes();
    (skill, policy, input)
}

#[test]
fn a_script_that_never_reads_a_large_input_blocks_nothing() {
    for script in ["print('done')", "import os, time\nos.close(0)\ntime.sleep(0.3)\nprint('done')"] {
        let (skill, policy, input) = large(script);
        let ran = skill.run().input(input).args(["--policy"]).args([policy.path()]).go();
        assert_eq!((ran.status(), ran.stdout()), ("ok", "done\n"), "{ran:?}");
    }
}

#[test]
fn a_large_input_arrives_whole() {
    let (skill, policy, input) = large("import sys\nprint(len(sys.stdin.buffer.read()))");
    let length = input.len();
    let ran = skill.run().input(input).args(["--policy"]).args([policy.path()]).go();
    assert_eq!((ran.status(), ran.stdout()), ("ok", format!("{length}\n").as_str()), "{ran:?}");
}

#[test]
fn an_input_that_never_ends_is_refused_in_the_time_that_the_script_would_have() {
    let skill = Skill::new("print('ran')");
    let mut child = command(&skill, &["--timeout", "1s"]).spawn().unwrap();
    let open = child.stdin.take().unwrap();
    let ran = Ran::of(&child.wait_with_output().unwrap());
    drop(open);
    assert_eq!((ran.status(), ran.code), ("input_rejected", 120), "{ran:?}");
    assert_eq!(ran.report["error"]["id"], "input_unreadable");
    assert!(ran.report["error"]["hint"].as_str().unwrap().contains("--input"), "{ran:?}");
}

#[test]
fn a_fifo_without_a_writer_is_no_reason_to_wait_for_ever() {
    let skill = Skill::new("print('ran')");
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let ran = Ran::of(&feed(command(&skill, &["--timeout", "1s", "--input", fifo.to_str().unwrap()]), b""));
    assert_eq!(ran.status(), "input_rejected", "{ran:?}");
    // Of the files that are read whole, and of those that are written: refused, not waited for.
    let fifo = fifo.to_str().unwrap();
    for (option, code) in [("--policy", 122), ("--manifest", 121), ("--report", 2), ("--audit", 2)] {
        let output = feed(command(&skill, &[option, fifo]), b"{}");
        assert_eq!(output.status.code(), Some(code), "{option}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(fifo), "{option}: {text}");
    }
    let output = feed(command(&skill, &["--policy", "/dev/zero"]), b"{}");
    assert_eq!(output.status.code(), Some(122), "an endless policy: {output:?}");
}

/// Who looks at the terminal only, and not into the document, must know too.
#[test]
fn what_the_document_has_is_told_in_a_line() {
    let skill = Skill::new(
        "import os, socket, sys\nos.symlink('/x', '/workdir/out/link')\ntry:\n    socket.socket()\nexcept OSError:\n    pass\nsys.exit(3)",
    );
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let secrets = dir.path().join("secrets");
    let told = |skill: &Skill, words: &[&str]| {
        let mut command = Command::new(SKILLJAIL);
        command.arg("run").arg("--runtime").arg(super::support::runtime()).args(words);
        command.arg(skill.path()).arg("main.py");
        feed(command, b"{}")
    };
    let output = told(&skill, &["--out", out, "--secrets", secrets.to_str().unwrap()]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}");
    for line in [
        "skilljail: --secrets is not read: ",
        "skilljail: denied by the filter: socket (1 in all; ",
        "skilljail: --out: not taken: link: symbolic link",
    ] {
        assert!(text.lines().any(|found| found.starts_with(line)), "{line:?} in {text}");
    }
    let crash = Skill::new("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)");
    let output = told(&crash, &[]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(128 + 11), "{text}");
    assert!(text.contains("skilljail: the script was ended by SIGSEGV (signal 11)"), "{text}");
}

fn bound_exec(words: &[&str]) -> Command {
    let mut command = Command::new(SKILLJAIL);
    command.args(["exec", "--json", "--timeout", "10s", "--ro-bind", "/usr"]);
    for folder in ["/lib", "/lib64"] {
        if std::path::Path::new(folder).exists() {
            command.args(["--ro-bind", folder]);
        }
    }
    command.arg("--").args(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn exec_ends_with_its_program_though_stdin_never_does() {
    let mut child = bound_exec(&["/usr/bin/true"]).spawn().unwrap();
    let open = child.stdin.take().unwrap();
    let ran = Ran::of(&child.wait_with_output().unwrap());
    drop(open);
    assert_eq!((ran.status(), ran.code), ("ok", 0), "{ran:?}");
    assert_eq!(ran.report["policy_modified"], true);
    // And what comes is handed on, to its end.
    let ran = Ran::of(&feed(bound_exec(&["/usr/bin/cat"]), "x".repeat(50_000).as_bytes()));
    assert_eq!((ran.status(), ran.stdout().len()), ("ok", 50_000));
}

/// Nobody reads our stdout: the jail is gone by then, and a signal still ends us.
#[test]
fn a_caller_that_does_not_read_can_still_end_us() {
    let mark = word("unread");
    // More than a pipe holds, with the document around it.
    let skill = Skill::new(&format!(
        "{READY}\nprint('x' * 65000, flush=True)\nimport sys\nsys.stderr.write('y' * 65000)\nready(0.2)"
    ));
    let mut child = command(&skill, &["--session", &mark]).spawn().unwrap();
    use std::io::Write as _;
    child.stdin.take().unwrap().write_all(b"{}").unwrap();
    let live = Live::new(child);
    live.ready();
    while !super::support::live::descendants(live.pid()).is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    live.signal(Signal::SIGTERM);
    use std::os::unix::process::ExitStatusExt as _;
    let status = live.wait_only();
    assert!(status.signal() == Some(15) || status.code() == Some(143), "{status:?}");
    assert_gone(&mark);
}

/// A reader that goes away is no error of the script's.
#[test]
fn a_closed_pipe_ends_quietly_with_the_scripts_code() {
    let skill = Skill::new("import sys\nprint('x' * 60000)\nsys.exit(5)");
    let mut child = command(&skill, &[]).spawn().unwrap();
    use std::io::Write as _;
    child.stdin.take().unwrap().write_all(b"{}").unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert_eq!(output.stderr, b"");
}

#[test]
fn the_timeout_has_a_floor_and_the_policys_ceiling() {
    let skill = Skill::new("print('ran')");
    for (asked, fine) in [
        ("1s", true),
        ("1000 ms", true),
        ("2m", true),
        ("120 s", true),
        ("999ms", false),
        ("0s", false),
        ("121s", false),
        ("3m", false),
        ("5", false),
        ("-5s", false),
        ("1e3s", false),
        ("99999999999999999999s", false),
    ] {
        let output = feed(command(&skill, &[&format!("--timeout={asked}")]), b"{}");
        if fine {
            assert_eq!(Ran::of(&output).status(), "ok", "{asked}");
        } else {
            assert_eq!(output.status.code(), Some(2), "{asked}: {output:?}");
            assert!(String::from_utf8(output.stderr).unwrap().contains("--timeout"), "{asked}");
            assert_eq!(output.stdout, b"", "{asked}: nothing ran");
        }
    }
}
