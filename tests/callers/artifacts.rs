//! Artifacts: what comes out of /workdir/out, and what does not, with the host as it was.

use super::support::Skill;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn refusal<'a>(artifacts: &'a [Value], path: &str) -> &'a str {
    let found = artifacts.iter().find(|artifact| artifact["path"] == path);
    found.unwrap_or_else(|| panic!("{path} is not in {artifacts:#?}"))["refused"]
        .as_str()
        .unwrap_or("collected")
}

fn tree(top: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(top).unwrap().flatten() {
        let path = entry.path();
        found.push(path.display().to_string());
        if entry.file_type().unwrap().is_dir() {
            found.extend(tree(&path));
        }
    }
    found.sort();
    found
}

#[test]
fn regular_files_come_out_and_everything_else_is_refused_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("canary"), "untouched").unwrap();
    let out = dir.path().join("out");
    let canary = dir.path().join("canary");
    let script = format!(
        r#"
import errno, json, os
os.chdir("/workdir/out")
made = {{}}
def attempt(name, action):
    try:
        action()
        made[name] = "ok"
    except OSError as error:
        made[name] = errno.errorcode[error.errno]
open("plain.txt", "w").write("plain")
os.makedirs("a/b/c/d/e")
open("a/b/c/d/four.txt", "w").write("4")
open("a/b/c/d/e/five.txt", "w").write("5")
attempt("symlink", lambda: os.symlink({canary:?}, "link"))
attempt("dirlink", lambda: os.symlink("/", "dirlink"))
attempt("updir", lambda: os.symlink("../..", "a/up"))
open("one", "w").write("x")
attempt("hardlink", lambda: os.link("one", "two"))
attempt("fifo", lambda: os.mkfifo("fifo"))
attempt("device", lambda: os.mknod("device", 0o20666, os.makedev(1, 3)))
with open("sparse", "wb") as file:
    file.truncate(60 << 20)
open("-rf", "w").write("x")
open(".profile", "w").write("x")
open("new\nline", "w").write("x")
open(b"\xff", "w").write("x")
open("unreadable", "w").write("x")
os.chmod("unreadable", 0)
open("/workdir/not-out", "w").write("x")
print(json.dumps(made))
"#
    );
    let ran = Skill::new(&script).run().args(["--out"]).args([&out]).go();
    let made = ran.value();
    for name in ["symlink", "dirlink", "updir", "hardlink"] {
        assert_eq!(made[name], "ok", "{made}");
    }
    // Already inside there is no way to make these.
    for name in ["fifo", "device"] {
        assert_eq!(made[name], "EPERM", "{made}");
    }
    let artifacts = ran.report["artifacts"].as_array().unwrap();
    for (path, why) in [
        ("link", "symbolic link"),
        ("dirlink", "symbolic link"),
        ("a/up", "symbolic link"),
        ("one", "hard link"),
        ("two", "hard link"),
        ("sparse", "larger than"),
        ("a/b/c/d/e", "deeper than 4"),
        ("plain.txt", "collected"),
        ("a/b/c/d/four.txt", "collected"),
    ] {
        assert!(refusal(artifacts, path).contains(why), "{path}: {}", refusal(artifacts, path));
    }
    assert_eq!(fs::read_to_string(out.join("plain.txt")).unwrap(), "plain");
    // Names that a shell or a tool could take for something else come out escaped.
    for name in ["%2Drf", "%2Eprofile", "new%0Aline", "%FF"] {
        assert!(out.join(name).is_file(), "{name} of {:?}", tree(&out));
    }
    for entry in tree(&out) {
        let metadata = fs::symlink_metadata(&entry).unwrap();
        assert!(metadata.is_file() || metadata.is_dir(), "{entry}");
        assert_eq!(metadata.permissions().mode() & 0o7022, 0, "{entry}: no setuid, not for others to write");
        if metadata.is_file() {
            assert_eq!(metadata.permissions().mode() & 0o111, 0, "{entry}: nothing that could be executed");
        }
    }
    assert_eq!(fs::read_to_string(&canary).unwrap(), "untouched");
    assert!(!tree(dir.path()).iter().any(|path| path.contains("not-out")));
    let digest = artifacts.iter().find(|artifact| artifact["path"] == "plain.txt").unwrap();
    assert_eq!(digest["sha256"], "a116c9ed46d6207734a43317d30fd88f52ac8634c37d904bbf4e41d865f90475");
}

#[test]
fn count_and_size_are_capped() {
    let dir = tempfile::tempdir().unwrap();
    let script = "
for n in range(100):
    open(f'/workdir/out/many{n:03}', 'w').write('x')
for n in range(3):
    with open(f'/workdir/out/a{n}', 'wb') as file:
        file.write(bytes(15 << 20))
with open('/workdir/out/b', 'wb') as file:
    file.write(bytes(17 << 20))
";
    let out = dir.path().join("out");
    let ran = Skill::new(script).run().args(["--out"]).args([&out]).go();
    let artifacts = ran.report["artifacts"].as_array().unwrap();
    assert_eq!(refusal(artifacts, "a0"), "collected");
    assert_eq!(refusal(artifacts, "a1"), "collected");
    assert!(refusal(artifacts, "a2").contains("all together"));
    assert!(refusal(artifacts, "b").contains("larger than 16777216"));
    assert!(refusal(artifacts, "many030").contains("more than 32"));
    assert_eq!(refusal(artifacts, ""), "8 more were refused");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 32);
    assert!(artifacts.len() <= 32 + 64 + 1, "refusals are listed up to a bound");
}

/// Nothing is collected that was not asked for; nothing of the caller's is replaced; a killed run's files come out too.
#[test]
fn the_callers_folder_is_added_to_and_never_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("mine.txt"), "mine").unwrap();
    let elsewhere = dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, out.join("sub")).unwrap();
    let script = "
import os, time
os.mkdir('/workdir/out/sub')
for name in ('mine.txt', 'sub/into', 'new.txt'):
    open('/skill/out/' + name, 'w').write('of the script')
time.sleep(60)
";
    let ran = Skill::new(script).run().args(["--timeout", "1s", "--out"]).args([&out]).go();
    assert_eq!(ran.status(), "timeout");
    assert_eq!(fs::read_to_string(out.join("mine.txt")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(out.join("new.txt")).unwrap(), "of the script");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "no symbolic link of --out is followed");
    // A second run into the same folder: the old file stays, and that is no success.
    let again = Skill::new("open('/workdir/out/new.txt', 'w').write('of another')");
    let ran = again.run().args(["--out"]).args([&out]).go();
    assert_eq!((ran.status(), ran.code), ("ok", 3), "{ran:?}");
    assert_eq!(fs::read_to_string(out.join("new.txt")).unwrap(), "of the script");
    let ran = Skill::new("open('/workdir/out/x', 'w').write('x')").run().go();
    assert_eq!(ran.report["artifacts"], serde_json::json!([]));
}
