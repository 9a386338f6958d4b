//! The table of paths.

use super::support::Skill;
use super::{look, seen};
use serde_json::{Value, json};

/// The flags that the kernel has for the mount of each path.
#[test]
fn each_mount_has_its_flags() {
    let private = json!(["nosuid", "nodev", "noexec"]);
    let sealed = json!(["ro", "nosuid", "nodev", "noexec"]);
    let flags = &seen()["flags"];
    for path in ["/", "/etc", "/dev", "/skill", "/workdir/in"] {
        assert_eq!(flags[path], sealed, "{path}");
    }
    for path in ["/workdir", "/workdir/out", "/skill/out", "/workdir/tmp", "/tmp", "/dev/shm"] {
        assert_eq!(flags[path], private, "{path}");
    }
    // Libraries are mapped from here, so it is not noexec; Landlock says what may be executed of it.
    assert_eq!(flags["/usr"], json!(["ro", "nosuid", "nodev"]));
    // A device is written to through a read-only mount all the same; its inode, which is the host's, is not.
    for (node, flags) in seen()["node_flags"].as_object().unwrap() {
        assert_eq!(*flags, json!(["ro", "nosuid", "noexec"]), "{node}");
    }
}

/// Everything that there is outside /usr, with its mode: one line more is a test that fails.
#[test]
fn the_whole_tree_is_this_list() {
    let golden = [
        "dir 0555 /dev",
        "char 0666 /dev/full",
        "char 0666 /dev/null",
        "char 0666 /dev/random",
        "dir 0700 /dev/shm",
        "char 0666 /dev/urandom",
        "char 0666 /dev/zero",
        "dir 0555 /etc",
        "file 0444 /etc/group",
        "file 0444 /etc/hosts",
        "file 0444 /etc/nsswitch.conf",
        "file 0444 /etc/passwd",
        "link 0777 /lib -> usr/lib",
        "link 0777 /lib64 -> usr/lib64",
        "dir 0555 /skill",
        "file 0444 /skill/SKILL.md",
        "dir 0700 /skill/out",
        "dir 0555 /skill/references",
        "file 0444 /skill/references/notes.md",
        "dir 0555 /skill/scripts",
        "file 0444 /skill/scripts/beside.py",
        "file 0444 /skill/scripts/json.py",
        "file 0444 /skill/scripts/main.py",
        "file 0444 /skill/scripts/planted.pth",
        "file 0444 /skill/scripts/pyvenv.cfg",
        "file 0444 /skill/scripts/sitecustomize.py",
        "file 0444 /skill/scripts/usercustomize.py",
        "file 0444 /skill/sitecustomize.py",
        "file 0444 /skill/xray.json",
        "dir 0700 /tmp",
        "dir 0755 /usr",
        "dir 0700 /workdir",
        "dir 0555 /workdir/in",
        "file 0444 /workdir/in/data.csv",
        "dir 0700 /workdir/out",
        "dir 0700 /workdir/tmp",
    ];
    assert_eq!(seen()["tree"], json!(golden.as_slice()));
    assert_eq!(seen()["absent"], json!([]));
}

#[test]
fn the_runtime_is_an_interpreter_and_no_tools() {
    let usr = &seen()["usr"];
    assert_eq!(usr["programs"].as_array().unwrap().len(), 1, "{usr}");
    assert_eq!(usr["tools"], json!([]), "no shell, no compiler, no installer");
    assert_eq!(usr["special"], json!([]), "no setuid or setgid file, no device, socket or fifo");
    assert_eq!(usr["unreadable"], json!([]));
    assert!(usr["files"].as_u64().unwrap() > 500, "control: the walk saw the library: {usr}");
    let machine = format!("{}-linux-gnu", std::env::consts::ARCH);
    for path in usr["second_level"].as_array().unwrap() {
        let path = path.as_str().unwrap();
        let known = ["/usr/bin", "/usr/lib", "/usr/lib64", "/usr/share"].contains(&path)
            || path.starts_with("/usr/bin/python3.")
            || path.starts_with("/usr/lib/python3.")
            || path == format!("/usr/lib/{machine}")
            || path.starts_with("/usr/lib/libpython3.")
            || path.starts_with("/usr/lib64/ld-linux")
            || path.starts_with("/usr/lib/ld-linux")
            || ["/usr/lib/ssl", "/usr/lib/locale", "/usr/share/zoneinfo", "/usr/share/ca-certificates"]
                .contains(&path);
        assert!(known, "{path} is new in /usr: is it needed?");
    }
}

#[test]
fn etc_is_made_and_says_only_this() {
    assert_eq!(
        seen()["texts"],
        json!({
            "/etc/passwd": "skilljail:x:1000:1000::/workdir:/nonexistent\n",
            "/etc/group": "skilljail:x:1000:\n",
            "/etc/hosts": "127.0.0.1 localhost skilljail\n::1 localhost skilljail\n",
            "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        })
    );
}

#[test]
fn nothing_can_be_made_written_removed_or_changed_outside_the_workdir() {
    let refused = seen()["refused"].as_object().unwrap();
    assert_eq!(refused.len(), 4);
    for (what, answers) in refused {
        let answers = answers.as_object().unwrap();
        assert!(answers.len() >= 6, "{what}");
        for (path, answer) in answers {
            assert!(*answer == "EROFS" || *answer == "EACCES", "{what} {path}: {answer}");
        }
    }
}

#[test]
fn one_folder_has_two_names() {
    assert_eq!(seen()["same"], json!({"out": true, "tmp": true}));
}

#[test]
fn devices_are_the_five_and_work() {
    let devices = &seen()["devices"];
    assert_eq!(
        devices["numbers"],
        json!({"null": [1, 3], "zero": [1, 5], "full": [1, 7], "random": [1, 8], "urandom": [1, 9]})
    );
    let expected = [
        ("null_reads", json!("")),
        ("null_takes", json!("ok")),
        ("zero", json!("00000000")),
        ("full_reads", json!("00000000")),
        ("full_takes", json!("ENOSPC")),
        ("random", json!(16)),
        ("urandom_differs", json!(true)),
        ("made", json!("EPERM")),
        ("block_made", json!("EPERM")),
        ("tty", json!("ENOENT")),
        ("ptmx", json!("ENOENT")),
    ];
    for (name, answer) in expected {
        assert_eq!(devices[name], answer, "{name}");
    }
}

#[test]
fn nothing_that_the_script_wrote_can_be_executed() {
    assert_eq!(
        seen()["no_exec"],
        json!({"/workdir": "EPERM", "/tmp": "EPERM", "/dev/shm": "EPERM", "/workdir/out": "EPERM"})
    );
}

#[test]
fn the_workdir_and_shm_have_the_policys_size() {
    assert_eq!(seen()["capacity"]["/workdir"], json!({"bytes": 128 << 20, "inodes": 4096}));
    assert_eq!(seen()["capacity"]["/dev/shm"], json!({"bytes": 16 << 20, "inodes": 256}));
}

#[test]
fn input_files_arrive_as_they_were() {
    assert_eq!(seen()["given"], "a,b\n1,2\n");
}

/// The caps hold: not only are they written on the mount.
#[test]
fn the_workdir_is_full_when_its_caps_are_reached() {
    let script = r#"
import errno, json, os
def fill(folder):
    written, name = 0, 0
    try:
        while True:
            with open(f"{folder}/b{name}", "wb", buffering=0) as file:
                for _ in range(32):
                    written += file.write(bytes(1 << 20))
            name += 1
    except OSError as error:
        seen = errno.errorcode[error.errno]
    for old in range(name + 1):
        os.unlink(f"{folder}/b{old}")
    return [seen, written]
def many(folder):
    made = 0
    os.mkdir(f"{folder}/many")
    try:
        while made < 100000:
            os.close(os.open(f"{folder}/many/{made}", os.O_CREAT | os.O_WRONLY))
            made += 1
    except OSError as error:
        return [errno.errorcode[error.errno], made]
print(json.dumps({"bytes": fill("/workdir"), "tmp": fill("/tmp"), "shm": fill("/dev/shm"), "inodes": many("/workdir"), "then": many("/dev/shm")}))
"#;
    let seen: Value = Skill::new(script).run().go().value();
    for (place, most) in [("bytes", 128u64 << 20), ("tmp", 128 << 20), ("shm", 16 << 20)] {
        assert_eq!(seen[place][0], "ENOSPC", "{seen}");
        let written = seen[place][1].as_u64().unwrap();
        assert!(written <= most && written > most * 9 / 10, "{place}: {seen}");
    }
    assert_eq!(seen["inodes"][0], "ENOSPC");
    assert!((4000..4096).contains(&seen["inodes"][1].as_u64().unwrap()), "{seen}");
    assert_eq!(seen["then"][0], "ENOSPC");
    assert!(seen["then"][1].as_u64().unwrap() < 256, "{seen}");
}

/// A larger policy is larger, not wider.
#[test]
fn no_policy_adds_a_path() {
    let tfrobot = look("tfrobot").value();
    assert_eq!(tfrobot["tree"], seen()["tree"]);
    assert_eq!(tfrobot["flags"], seen()["flags"]);
    assert_eq!(tfrobot["capacity"]["/workdir"], json!({"bytes": 1u64 << 30, "inodes": 16384}));
}

/// Without /proc there is no way back to a descriptor, a root, or another process's files.
#[test]
fn the_root_is_the_root() {
    let script = r#"
import json, os
answers = {}
for path in ("/..", "/../..", "/workdir/../..", "/lib/../../..", "/skill/out/../../.."):
    answers[path] = sorted(os.listdir(path)) == sorted(os.listdir("/"))
os.chdir("/")
for _ in range(40):
    os.chdir("..")
print(json.dumps({"same": answers, "cwd": os.getcwd(), "inode": os.stat("/").st_ino == os.stat("/..").st_ino}))
"#;
    let seen = Skill::new(script).run().go().value();
    for (path, same) in seen["same"].as_object().unwrap() {
        assert_eq!(*same, json!(true), "{path}");
    }
    assert_eq!((&seen["cwd"], &seen["inode"]), (&json!("/"), &json!(true)));
}
