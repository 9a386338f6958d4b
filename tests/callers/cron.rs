//! No terminal, every signal ignored and blocked, streams closed, 204 descriptors left open, limits low, an odd umask,
//! an environment full of what must not matter.

use super::support::{SKILLJAIL, Skill, runtime};
use super::{fixture, python};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

const LOOK: &str = r"
import json, os, signal, stat, sys, time
def there(fd):
    try:
        os.fstat(fd)
        return True
    except OSError:
        return False
def ignored(number):
    try:
        return signal.getsignal(number) == signal.SIG_IGN
    except ValueError:
        return False
kernel = [int(n) for n in signal.valid_signals() if ignored(n)]
os.makedirs('/workdir/out/sub')
with open('/workdir/out/sub/artifact', 'w') as file:
    file.write('made')
print(json.dumps({
    'fds': [fd for fd in range(4096) if there(fd)],
    'pipes': [stat.S_ISFIFO(os.fstat(fd).st_mode) for fd in (0, 1, 2)],
    'ignored': kernel, 'mask': [int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
    'umask': os.umask(0o077), 'session': os.getsid(0), 'names': sorted(os.environ), 'tz': os.environ['TZ'],
    'home': os.environ['HOME'], 'input': sys.stdin.read(), 'clock': time.tzname[0],
}))
";

fn from_cron(umask: &str) {
    let skill = Skill::new(LOOK);
    let dir = tempfile::tempdir().unwrap();
    let (input, report, out) = (dir.path().join("input"), dir.path().join("report"), dir.path().join("out"));
    std::fs::write(&input, r#"{"text": "t"}"#).unwrap();
    let mut command = Command::new(python());
    command.args(["-B", &fixture("cron.py"), umask, SKILLJAIL, "run", "--json", "--runtime"]).arg(runtime());
    command.arg("--input").arg(&input).arg("--report").arg(&report).arg("--out").arg(&out);
    command.arg(skill.path()).arg("main.py");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // Whatever the umask: the caller can read what it asked for.
    let readable = |path: &std::path::Path| {
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o400, 0o400, "{} has mode {mode:o}", path.display());
        assert_eq!(mode & 0o022, 0, "and nobody else can write it");
    };
    readable(&report);
    let document: Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    assert_eq!(document["status"], "ok", "{document}");
    let seen: Value = serde_json::from_str(document["stdout"]["text"].as_str().unwrap()).unwrap();
    assert_eq!(seen["fds"], json!([0, 1, 2]), "none of the 204");
    assert_eq!(seen["pipes"], json!([true, true, true]));
    // SIGPIPE and SIGXFSZ: CPython's own doing.
    assert_eq!((&seen["ignored"], &seen["mask"]), (&json!([13, 25]), &json!([])));
    assert_eq!((&seen["umask"], &seen["session"]), (&json!(0o077), &json!(1)));
    assert_eq!(
        (&seen["home"], &seen["tz"], &seen["clock"]),
        (&json!("/workdir"), &json!("UTC"), &json!("UTC"))
    );
    assert_eq!(seen["input"], r#"{"text": "t"}"#);
    let names = seen["names"].as_array().unwrap();
    for name in names {
        let name = name.as_str().unwrap();
        let own = [
            "HOME",
            "LANG",
            "TMPDIR",
            "TZ",
            "XDG_CACHE_HOME",
            "MPLCONFIGDIR",
            "MALLOC_ARENA_MAX",
            "PYTHONDONTWRITEBYTECODE",
        ];
        assert!(
            own.contains(&name) || name.ends_with("_NUM_THREADS") || name.starts_with("TFROBOT_"),
            "{name}"
        );
    }
    assert_eq!(document["artifacts"][0]["saved_as"], "sub/artifact", "{document}");
    readable(&out.join("sub/artifact"));
    assert_eq!(std::fs::read(out.join("sub/artifact")).unwrap(), b"made");
    for layer in document["layers"].as_array().unwrap() {
        assert_ne!(layer["enforced"], "none", "{layer}");
    }
}

#[test]
fn from_cron_with_the_usual_umask() {
    from_cron("022");
}

#[test]
fn from_cron_with_no_umask() {
    from_cron("000");
}

#[test]
fn from_cron_with_a_umask_that_takes_everything() {
    from_cron("777");
}

/// A fatal signal that was ignored and blocked by the caller is heard nevertheless: a daemon must be able to cancel.
#[test]
fn a_caller_that_ignores_signals_can_still_cancel() {
    use super::support::live::{Live, READY};
    use nix::sys::signal::{Signal, kill};
    let skill = Skill::new(&format!("{READY}\nready()"));
    let dir = tempfile::tempdir().unwrap();
    let (input, report) = (dir.path().join("input"), dir.path().join("report"));
    std::fs::write(&input, "{}").unwrap();
    let mut command = Command::new(python());
    command.args(["-B", &fixture("cron.py"), "022", SKILLJAIL, "run", "--runtime"]).arg(runtime());
    command.arg("--input").arg(&input).arg("--report").arg(&report).arg(skill.path()).arg("main.py");
    let live = Live::new(command.stdout(std::process::Stdio::piped()).spawn().unwrap());
    live.ready();
    kill(nix::unistd::Pid::from_raw(live.pid()), Signal::SIGTERM).unwrap();
    assert_eq!(live.output().status.code(), Some(143));
    let document: Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    assert_eq!(document["status"], "cancelled");
}
