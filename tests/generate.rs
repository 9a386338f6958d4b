//! `gen`: what it writes is what the shells and `man` read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a skipped test says why")]

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

const COMMANDS: [&str; 9] = ["run", "exec", "list", "read", "manifest", "runtime", "policy", "doctor", "gen"];

fn completions(shell: &str) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_skilljail")).args(["gen", "completions", shell]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Feeds a text to a program; `None` where the program is not installed.
fn accepted_by(program: &str, args: &[&str], text: &str) -> Option<bool> {
    let child = Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    let Ok(mut child) = child else {
        eprintln!("SKIP: {program} is not installed; its completions were looked at, not parsed");
        return None;
    };
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    Some(child.wait().unwrap().success())
}

#[test]
fn each_shell_can_parse_its_completions_and_they_name_every_command() {
    for (shell, args) in [("bash", ["-n"].as_slice()), ("zsh", &["-n"]), ("fish", &["--no-execute"])] {
        let text = completions(shell);
        for command in COMMANDS {
            assert!(text.contains(command), "{shell}: {command}");
        }
        for option in ["report", "policy", "cgroup"] {
            assert!(text.contains(option), "{shell}: --{option}");
        }
        assert_ne!(accepted_by(shell, args, &text), Some(false), "{shell} cannot parse it");
    }
}

#[test]
fn bash_completes_a_command_and_an_option() {
    let script = format!(
        "{}\nCOMP_WORDS=(skilljail doc); COMP_CWORD=1; _skilljail skilljail doc skilljail; echo \"${{COMPREPLY[@]}}\"\n\
         COMP_WORDS=(skilljail run --rep); COMP_CWORD=2; _skilljail skilljail --rep run; echo \"${{COMPREPLY[@]}}\"\n",
        completions("bash")
    );
    let output = Command::new("bash").args(["--norc", "-c", &script]).output().expect("bash");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "doctor\n--report\n");
}

#[test]
fn there_is_a_man_page_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("share/man1");
    let status =
        Command::new(env!("CARGO_BIN_EXE_skilljail")).args(["gen", "man"]).arg(&out).status().unwrap();
    assert!(status.success());
    for command in COMMANDS {
        let page = fs::read_to_string(out.join(format!("skilljail-{command}.1"))).unwrap();
        assert!(page.contains(".TH skilljail-") && page.contains(".SH NAME"), "{command}: {page}");
    }
    let page = fs::read_to_string(out.join("skilljail-run.1")).unwrap();
    assert!(page.contains("Write the result document here"), "{page}");
    assert!(out.join("skilljail-runtime-build.1").exists() && out.join("skilljail.1").exists());
    let names: Vec<_> =
        fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!names.iter().any(|name| name.contains("help")), "{names:?}");
}

#[test]
fn output_that_cannot_be_written_is_told_and_is_no_panic() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_skilljail"))
        .args(["gen", "completions", "fish"])
        .stdout(full)
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(
        told.starts_with("skilljail: cannot write to standard output: ") && told.lines().count() == 1,
        "{told}"
    );
}

/// The schemas that are committed are those of the types: `make schemas` writes them anew.
#[test]
fn the_committed_schemas_are_those_of_the_types() {
    for (of, path) in
        [("policy", "policies/policy.schema.json"), ("report", "integration/report.schema.json")]
    {
        let output =
            std::process::Command::new(env!("CARGO_BIN_EXE_skilljail")).args(["gen", "schema", of]).output();
        let output = output.expect("the program starts");
        let committed =
            std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("it is there");
        assert!(output.status.success());
        assert!(output.stdout == committed, "{path} is not what the types say: run `make schemas`");
    }
}
