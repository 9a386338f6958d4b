//! The self-contained executables that `make static` made: what they are, how large, and that they do the work.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and tells the sizes"
)]

mod support;

use elf::ElfBytes;
use elf::abi::{DT_NEEDED, PT_INTERP};
use elf::endian::AnyEndian;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The promise for production hosts.
const CORE_BYTES: u64 = 4 << 20;

fn executable(name: &str) -> PathBuf {
    let path = support::checkout().join("target/static").join(name);
    assert!(path.exists(), "{} is missing\nhint: make static builds it", path.display());
    path
}

fn executables() -> [PathBuf; 2] {
    [executable("skilljail"), executable("skilljail-core")]
}

/// What the dynamic linker would be asked for: the interpreter, and the libraries counted.
fn asks_for(bytes: &[u8]) -> (bool, usize) {
    let file = ElfBytes::<AnyEndian>::minimal_parse(bytes).expect("an ELF file");
    let interpreted = file.segments().expect("segments").iter().any(|segment| segment.p_type == PT_INTERP);
    let dynamic = file.dynamic().expect("a readable table");
    (interpreted, dynamic.map_or(0, |table| table.iter().filter(|entry| entry.d_tag == DT_NEEDED).count()))
}

#[test]
fn they_need_no_file_of_the_host() {
    for path in executables() {
        assert_eq!(asks_for(&fs::read(&path).expect("readable")), (false, 0), "{}", path.display());
    }
    // The control: an ordinary build is found to ask for both.
    let (interpreted, libraries) = asks_for(&fs::read(support::SKILLJAIL).expect("readable"));
    assert!(interpreted && libraries > 0);
}

#[test]
fn core_is_small() {
    let sizes = executables().map(|path| fs::metadata(path).expect("it exists").len());
    eprintln!("static: skilljail {} bytes, skilljail-core {} bytes", sizes[0], sizes[1]);
    let hint =
        "against glibc it is larger: rustup target add x86_64-unknown-linux-musl, and make static again";
    assert!(sizes[1] <= CORE_BYTES, "skilljail-core has {} bytes\nhint: {hint}", sizes[1]);
    assert!(sizes[1] < sizes[0], "core leaves something out");
}

#[test]
fn they_run_a_skill_in_the_whole_jail() {
    let skill = support::checkout().join("skills/word-count");
    let input = fs::read(skill.join("examples/count.input.json")).expect("the input");
    let expected = fs::read_to_string(skill.join("examples/count.output.json")).expect("the output");
    for path in executables() {
        let mut command = Command::new(&path);
        command.args(["run", "--json", "--runtime"]).arg(support::runtime()).arg(&skill).arg("count.py");
        let output = support::feed(command, &input);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(report["status"], "ok", "{}: {report:#}", path.display());
        assert_eq!(report["stdout"]["text"], expected);
        let layers = report["layers"].as_array().expect("layers");
        assert!(!layers.is_empty() && layers.iter().all(|layer| layer["enforced"] != "none"), "{layers:#?}");
    }
}

#[test]
fn they_run_any_program_such_as_each_other() {
    for path in executables() {
        let mut command = Command::new(&path);
        command
            .arg("exec")
            .arg("--ro-bind")
            .arg(format!("{}:/opt/program", executable("skilljail-core").display()));
        command.args(["--", "/opt/program", "--version"]);
        let output = support::feed(command, b"");
        assert_eq!(
            told(&output),
            (Some(0), concat!("skilljail ", env!("CARGO_PKG_VERSION"), "\n").to_owned(), String::new())
        );
    }
}

fn told(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// glibc loads modules for the password database, which a static program may not find: the same answer all the same.
#[test]
fn they_look_for_the_runtime_in_the_home_of_the_password_database() {
    let look = |program: &PathBuf| {
        let mut command = Command::new(program);
        command.arg("run").arg(support::checkout().join("skills/word-count")).arg("count.py");
        // A home that the environment names is not the one that counts.
        command.env("HOME", "/nowhere");
        told(&support::feed(command, br#"{"text": "a b"}"#))
    };
    let dynamic = look(&PathBuf::from(support::SKILLJAIL));
    for path in executables() {
        assert_eq!(look(&path), dynamic, "{}", path.display());
    }
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).expect("the database can be read");
    let Some(user) = user else {
        eprintln!("SKIP: this user is in no password database; both said {dynamic:?}");
        return;
    };
    let home = user.dir.join(".local/share/skilljail/runtime");
    if dynamic.0 == Some(0) {
        assert!(home.exists() || PathBuf::from("/usr/lib/skilljail/runtime").exists());
    } else {
        assert!(dynamic.2.contains(&home.display().to_string()), "{}", dynamic.2);
    }
}

#[test]
fn core_has_nothing_for_judging() {
    let help = |name: &str| {
        let output = Command::new(executable(name)).arg("--help").output().expect("it starts");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let has =
        |help: &str, word: &str| help.lines().any(|line| line.trim_start().starts_with(&format!("{word} ")));
    let (full, core) = (help("skilljail"), help("skilljail-core"));
    for word in ["check", "gen"] {
        assert!(has(&full, word) && !has(&core, word), "{word}: {core}");
    }
    for word in ["run", "exec", "list", "read", "manifest", "runtime", "doctor"] {
        assert!(has(&core, word), "{word}: {core}");
    }
}
