//! On a terminal: nothing that a script prints can drive it, ^C cancels once and cleanly, and the jail has none.

use super::support::live::{Live, READY, assert_gone};
use super::support::{SKILLJAIL, Skill, feed, runtime};
use super::{fixture, python, word};
use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Stdio};

fn on_terminal(words: &[&str], skill: &Skill) -> Command {
    let mut command = Command::new(python());
    command.args(["-B", &fixture("terminal.py"), SKILLJAIL, "run", "--input", "/dev/stdin"]);
    command.args(["--runtime"]).arg(runtime()).args(words).arg(skill.path()).arg("main.py");
    command
}

fn shown(output: &std::process::Output) -> (String, i64) {
    let told: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (told["shown"].as_str().unwrap().to_owned(), told["code"].as_i64().unwrap())
}

const HOSTILE: &str = r#"
import sys
text = "before\x1b]0;title\x07\x1b[2J\u009b31m\u202egpj\r\x7f\x08after\ttab\n"
sys.stdout.write(text)
sys.stderr.write(text)
sys.stdout.flush()
sys.stdout.buffer.write(b"\xff\x1b\n")
"#;

#[test]
fn what_a_script_prints_cannot_drive_a_terminal() {
    let skill = Skill::new(HOSTILE);
    for json in [&["--json"][..], &[]] {
        // ^D on a line of its own ends the terminal's input.
        let (shown, code) = shown(&feed(on_terminal(json, &skill), b"{}\n\x04"));
        assert_eq!(code, 0, "{shown:?}");
        assert!(shown.contains("before") && shown.contains("after"), "{shown:?}");
        // The terminal itself makes \r\n of each newline, and echoes ^D.
        let rest = shown.replace("\r\n", "\n").replace("^D\x08\x08", "");
        for (at, byte) in rest.bytes().enumerate() {
            // Latin-1 of the bytes: C1 controls are two bytes of UTF-8, the second of them 0x80 to 0x9f after 0xc2.
            assert!(byte >= 0x20 || byte == b'\n' || byte == b'\t', "byte {byte:#x} at {at} of {rest:?}");
            assert_ne!(byte, 0x7f, "{rest:?}");
        }
        assert!(!rest.contains('\u{c2}'), "C1 controls: {rest:?}");
        assert!(!rest.contains("\u{e2}\u{80}\u{ae}"), "reordering: {rest:?}");
    }
    // Control: a pipe gets the bytes as they are.
    let mut command = Command::new(SKILLJAIL);
    command.args(["run", "--runtime"]).arg(runtime()).arg(skill.path()).arg("main.py");
    let piped = feed(command, b"{}");
    assert!(piped.stdout.starts_with(b"before\x1b]0;title\x07\x1b[2J\xc2\x9b31m"), "{piped:?}");
    assert!(piped.stderr.starts_with(b"before\x1b]0;title\x07"));
}

#[test]
fn interrupt_from_the_keyboard_cancels_once_and_leaves_nothing() {
    let mark = word("keyboard");
    let skill = Skill::new(&format!(
        "{READY}\nimport signal\nsignal.signal(2, signal.SIG_IGN)\nprint('partial', flush=True)\nready()"
    ));
    let mut child = on_terminal(&["--session", &mark], &skill)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut keyboard = child.stdin.take().unwrap();
    keyboard.write_all(b"{}\n\x04").unwrap();
    let live = Live::new(child);
    live.ready();
    keyboard.write_all(b"\x03").unwrap();
    let (shown, code) = shown(&live.output());
    assert_eq!(code, 130, "{shown:?}");
    assert_eq!(shown.matches("skilljail: ").count(), 1, "told once: {shown:?}");
    assert!(shown.contains("partial") && shown.contains("signal 2"), "{shown:?}");
    assert_gone(&mark);
}

/// A script cannot type into the caller's shell: it has no terminal, no /dev/tty, and the ioctl is refused.
#[test]
fn a_script_cannot_type_into_the_callers_terminal() {
    let script = r#"
import errno, fcntl, json, os
answers = []
for fd in (0, 1, 2):
    for request in (0x5412, 0x541C, 0x5412 | 1 << 32):
        try:
            fcntl.ioctl(fd, request & 0xffffffff, b"x")
            answers.append("typed")
        except OSError as error:
            answers.append(errno.errorcode[error.errno])
for path in ("/dev/tty", "/dev/pts/0", "/dev/console"):
    try:
        os.open(path, os.O_RDWR)
        answers.append("opened")
    except OSError as error:
        answers.append(errno.errorcode[error.errno])
print("ANSWERS", sorted(set(answers)))
"#;
    let skill = Skill::new(script);
    let (shown, code) = shown(&feed(on_terminal(&[], &skill), b"{}\n\x04"));
    assert_eq!(code, 0, "{shown:?}");
    assert!(shown.contains("ANSWERS ['ENOENT', 'EPERM']"), "{shown:?}");
}

#[test]
fn exec_relays_what_is_typed() {
    if !std::path::Path::new("/usr/bin/cat").exists() {
        eprintln!("SKIP: no /usr/bin/cat on this host");
        return;
    }
    let mut command = Command::new(python());
    command.args(["-B", &fixture("terminal.py"), SKILLJAIL, "exec", "--ro-bind", "/usr"]);
    for folder in ["/lib", "/lib64"] {
        if std::path::Path::new(folder).exists() {
            command.args(["--ro-bind", folder]);
        }
    }
    command.args(["--", "/usr/bin/cat"]);
    let (shown, code) = shown(&feed(command, b"typed line\n\x04"));
    assert_eq!(code, 0, "{shown:?}");
    assert_eq!(shown.matches("typed line").count(), 2, "the echo, and cat: {shown:?}");
}
