//! Secrets reach the script's environment and nothing else.

use super::support::live::{READY, status};
use super::support::{Ran, Run, SKILLJAIL, Skill, feed, runtime};
use serde_json::json;
use std::fs;
use std::io::Write as _;
use std::process::Command;

const CANARY: &str = "canary-7f3a9c51d2";

fn skill(script: &str) -> Skill {
    Skill::with_files(script, &[(".skillenv", "MODE=plain\nAPI_KEY=\n")])
}

fn secrets(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn with(run: Run, file: &tempfile::NamedTempFile) -> Run {
    run.args(["--secrets"]).args([file.path()])
}

const CHECK: &str = "import hashlib, os\nprint(hashlib.sha256(os.environ['API_KEY'].encode()).hexdigest(), 'OTHER' in os.environ)";

fn expected() -> String {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(CANARY.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{hex} False\n")
}

#[test]
fn from_a_file_and_from_a_descriptor() {
    let file = secrets(&format!("# a comment\nAPI_KEY={CANARY}\nOTHER=x\n"));
    let ran = with(skill(CHECK).run(), &file).go();
    assert_eq!((ran.status(), ran.stdout()), ("ok", expected().as_str()), "{ran:?}");
    assert_eq!(ran.report["secrets"], json!(["API_KEY"]), "names only");

    let skill = skill(CHECK);
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$@\" 7< \"$0\""]).arg(file.path()).arg(SKILLJAIL);
    command
        .args(["run", "--json", "--secrets", "fd:7", "--runtime"])
        .arg(runtime())
        .arg(skill.path())
        .arg("main.py");
    let ran = Ran::of(&feed(command, b"{}"));
    assert_eq!((ran.status(), ran.stdout()), ("ok", expected().as_str()), "{ran:?}");
}

/// Neither the document, nor a log, nor an artifact, nor a message holds it.
#[test]
fn the_value_is_nowhere_that_we_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let file = secrets(&format!("API_KEY={CANARY}\n"));
    for (script, status) in [
        ("print('x')", "ok"),
        ("raise ValueError('x')", "script_error"),
        ("import os\nos.abort()", "signaled"),
    ] {
        let skill = skill(script);
        let words = ["--audit", &path("audit"), "--report", &path("report"), "--out", &path("out")];
        let ran = with(skill.run(), &file).args(words).go();
        assert_eq!(ran.status(), status);
        let told = format!("{}{}", ran.report, ran.stderr);
        assert!(!told.contains(CANARY) && told.contains("API_KEY"), "{told}");
        for name in ["audit", "report"] {
            let text = fs::read_to_string(path(name)).unwrap();
            assert!(!text.is_empty() && !text.contains(CANARY), "{name}");
        }
    }
    // Nor does a refusal repeat what it could not read.
    for text in [
        format!("{CANARY}\n"),
        format!("API_KEY={CANARY}\nAPI_KEY={CANARY}\n"),
        format!("api key={CANARY}\n"),
    ] {
        let ran = with(skill("print('ran')").run(), &secrets(&text)).go();
        assert_eq!((ran.status(), ran.stdout()), ("input_rejected", ""), "{ran:?}");
        assert!(!format!("{}{}", ran.report, ran.stderr).contains(CANARY), "{ran:?}");
    }
}

#[test]
fn what_is_missing_or_never_comes_refuses_before_the_script_runs() {
    let no_value = secrets("API_KEY=\n");
    let other = secrets("OTHER=x\n");
    for file in [&no_value, &other] {
        let ran = with(skill("print('ran')").run(), file).go();
        assert_eq!((ran.status(), ran.code, ran.stdout()), ("input_rejected", 120, ""), "{ran:?}");
        assert_eq!(ran.report["error"]["id"], "secrets_refused");
    }
    let ran = skill("print('ran')").run().args(["--secrets", "/nonexistent"]).go();
    assert_eq!((ran.status(), ran.stdout()), ("input_rejected", ""));
    // A writer that never closes: refused with patience, not waited for.
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let ran = skill("print('ran')").run().args(["--secrets"]).args([&fifo]).go();
    assert_eq!((ran.status(), ran.stdout()), ("input_rejected", ""), "{ran:?}");
}

/// What is handed over to a skill that declares nothing is not even read.
#[test]
fn a_skill_that_declares_none_gets_none() {
    let script = "import os\nprint([name for name in os.environ if 'KEY' in name])";
    let ran = with(Skill::new(script).run(), &secrets(&format!("API_KEY={CANARY}\n"))).go();
    assert_eq!((ran.status(), ran.stdout()), ("ok", "[]\n"));
    assert_eq!(ran.report["secrets"], json!([]));
}

/// Init was made before the secrets were read: its memory never held them. The script's does (control).
#[test]
fn the_jails_init_never_holds_them() {
    let file = secrets(&format!("API_KEY={CANARY}\n"));
    let skill = skill(&format!("{READY}\nready()"));
    let live = with(skill.run(), &file).start();
    let script = live.ready();
    let init: i32 = status(script, "PPid").parse().unwrap();
    assert!(holds(script, CANARY).expect("the script's process is the caller's to read"), "control");
    match holds(init, CANARY) {
        Ok(held) => assert!(!held, "init's memory holds the secret"),
        Err(error) => eprintln!("SKIP: init is not dumpable and may not be read by this user: {error}"),
    }
    live.signal(nix::sys::signal::Signal::SIGTERM);
    assert_eq!(live.finish().status(), "cancelled");
}

/// Whether the memory of a process holds this text.
fn holds(pid: i32, text: &str) -> std::io::Result<bool> {
    use std::os::unix::fs::FileExt as _;
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let memory = fs::File::open(format!("/proc/{pid}/mem"))?;
    let mut looked = 0;
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let (from, to) = (u64::from_str_radix(from, 16).unwrap(), u64::from_str_radix(to, 16).unwrap());
        let mut bytes = vec![0u8; usize::try_from(to - from).unwrap().min(64 << 20)];
        let Ok(count) = memory.read_at(&mut bytes, from) else { continue };
        looked += count;
        if bytes[..count].windows(text.len()).any(|window| window == text.as_bytes()) {
            return Ok(true);
        }
    }
    assert!(looked > 0, "nothing of the memory could be read");
    Ok(false)
}
