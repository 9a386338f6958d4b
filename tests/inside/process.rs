//! The sentences on the process.

use super::support::Skill;
use super::{look, seen};
use serde_json::json;

#[test]
fn descriptors_are_exactly_three_pipes() {
    let process = &seen()["process"];
    assert_eq!(process["fds"], json!([0, 1, 2]));
    assert_eq!(process["kinds"], json!([true, true, true]), "each is a pipe");
    assert_eq!(process["access"], json!([0, 1, 1]), "read, write, write");
}

#[test]
fn there_is_no_terminal() {
    let process = &seen()["process"];
    assert_eq!(process["isatty"], json!([false, false, false]));
    assert_eq!(seen()["devices"]["tty"], "ENOENT");
}

#[test]
fn the_script_is_process_two_of_two_in_a_session_of_its_own() {
    let process = &seen()["process"];
    assert_eq!(process["pid"], 2);
    assert_eq!(process["parent"], 1);
    // Made by init; the caller's would be 0, a session that this namespace cannot name.
    assert_eq!((&process["session"], &process["group"]), (&json!(1), &json!(1)));
    assert_eq!(process["others"], json!([1, 2]));
}

#[test]
fn ids_groups_cwd_host_and_umask() {
    let process = &seen()["process"];
    assert_eq!(process["ids"], json!([[1000, 1000, 1000], [1000, 1000, 1000]]));
    assert_eq!(process["cwd"], "/workdir");
    assert_eq!(process["host"], "skilljail");
    assert_eq!(process["umask"], 0o077);
}

#[test]
fn signals_are_the_interpreters_own() {
    let process = &seen()["process"];
    assert_eq!(process["mask"], json!([]));
    // What CPython itself sets at start, and nothing that a caller had ignored.
    let mut names: Vec<_> = process["signals"].as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, ["SIGINT", "SIGPIPE", "SIGXFSZ"]);
}

/// Golden: what every run has, what the policy adds, the ids, and what `.skillenv` declares. Nothing of the caller.
#[test]
fn the_environment_is_exactly_this() {
    assert_eq!(
        seen()["process"]["environment"],
        json!({
            "HOME": "/workdir",
            "TMPDIR": "/tmp",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONDONTWRITEBYTECODE": "1",
            "MALLOC_ARENA_MAX": "2",
            "MPLCONFIGDIR": "/tmp/matplotlib",
            "XDG_CACHE_HOME": "/tmp/.cache",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "NUMEXPR_NUM_THREADS": "1",
            "TFROBOT_SKILL_DIR": "/skill",
            "TFROBOT_SESSION_ID": "s-1",
            "TFROBOT_ROBOT_ID": "r-2",
            "MODE": "fast",
            "API_KEY": "s3cret-canary",
        })
    );
    assert_eq!(seen()["process"]["argv"], json!(["/skill/scripts/main.py"]));
}

#[test]
fn limits_are_soft_and_hard_alike() {
    let limits = &seen()["process"]["limits"];
    for (name, value) in [
        ("RLIMIT_AS", 512 << 20),
        // The supervisor keeps the 30 s; this is for the time when it is stopped.
        ("RLIMIT_CPU", 38),
        ("RLIMIT_FSIZE", 64 << 20),
        ("RLIMIT_NOFILE", 256),
        ("RLIMIT_NPROC", 65),
        ("RLIMIT_CORE", 1),
        ("RLIMIT_MSGQUEUE", 0),
        ("RLIMIT_NICE", 0),
        ("RLIMIT_RTPRIO", 0),
        ("RLIMIT_SIGPENDING", 256),
        ("RLIMIT_STACK", 8 << 20),
    ] {
        assert_eq!(limits[name], json!([value, value]), "{name}");
    }
}

/// By effect: what any capability, a process of one's own or a socket would give.
#[test]
fn there_is_no_privilege_to_use() {
    let mut privileges = seen()["privileges"].clone();
    // The kernel takes the signal and drops it: init is not killed from inside. That this script went on is the proof.
    assert_eq!(privileges.as_object_mut().unwrap().remove("kill_init"), Some(json!("ok")));
    let answers = privileges.as_object().unwrap();
    assert!(answers.len() >= 15);
    for (what, answer) in answers {
        assert!(*answer == "EPERM" || *answer == "EACCES", "{what}: {answer}");
    }
}

/// Each refusal is in the result with its arguments and the reason that the filter gives.
#[test]
fn denials_are_written_down() {
    let ran = look("default");
    for name in ["ptrace", "setuid", "chroot", "sethostname", "socket", "fork"] {
        let denials = ran.report["denials"].as_array().unwrap();
        // glibc's fork is a clone, os.setuid a call of its own.
        let wanted = if name == "fork" { "clone" } else { name };
        let denial = denials.iter().find(|denial| denial["syscall"] == wanted);
        let denial = denial.unwrap_or_else(|| panic!("{wanted} is not in {denials:#?}"));
        assert_eq!(denial["layer"], "seccomp");
        assert_eq!(denial["args"].as_array().unwrap().len(), 6);
        assert!(denial["reason"].as_str().unwrap().len() > 10, "{denial}");
    }
    assert!(ran.report["denials_total"].as_u64().unwrap() >= 10);
}

/// No descriptor that could carry a forged result: every number that can be written to is a stream of the script.
#[test]
fn no_other_descriptor_can_be_written() {
    let script = r#"
import json, os
forged = b'{"version":1,"status":"ok","exit_code":0}\n'
taken = []
for fd in range(3, 4096):
    try:
        os.write(fd, forged)
        taken.append(fd)
    except OSError:
        pass
print(json.dumps(taken))
"#;
    assert_eq!(Skill::new(script).run().go().value(), json!([]));
}
