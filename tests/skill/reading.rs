//! `read` is the one guarded way: what it refuses, a naive reader would have handed out.

use super::package::{Package, skilljail, stderr, stdout};
use skilljail::skill::package::Package as Opened;
use skilljail::skill::read::{MAX_READ, Refusal, read};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const CANARY: &str = "canary-outside";

/// A skill with every trap, beside a file that must not be reached.
fn trapped() -> Package {
    let package = Package::new(Some("cubesandbox"))
        .file(".cubesandbox.dockerfile", CANARY)
        .file(".skillenv", format!("KEY={CANARY}\n"))
        .file("docs/old.dockerfile", CANARY)
        .file("docs/.SkillEnv.bak", CANARY)
        .file("docs/plain.txt", "plain")
        .link("inside", "docs/plain.txt")
        .link("leaves", "../outside.txt")
        .link("chain", "chain2")
        .link("chain2", "leaves")
        .link("parent", "..")
        .link("absolute", "/etc/passwd")
        .link("env-link", ".skillenv")
        .link("env-dir", "docs")
        .link("proc", "/proc/self/root");
    fs::write(package.root.with_file_name("outside.txt"), CANARY).unwrap();
    fs::hard_link(package.root.join(".skillenv"), package.root.join("env-hard")).unwrap();
    package
}

#[test]
fn each_way_out_is_refused_with_a_reason_and_code_4() {
    let package = trapped();
    let root = package.root.to_str().unwrap();
    let outside = format!("{root}/../outside.txt");
    let protected = "403 access denied: protected file";
    // The path, the reason, and whether a naive reader would have handed something out.
    let table = [
        ("../outside.txt", "`..` in the path", true),
        ("docs/../../outside.txt", "`..` in the path", true),
        ("docs/../.skillenv", "`..` in the path", true),
        ("%2e%2e/outside.txt", "no such file", false),
        ("..%2foutside.txt", "no such file", false),
        ("/etc/passwd", "absolute path", true),
        (outside.as_str(), "absolute path", true),
        ("/proc/self/environ", "absolute path", true),
        ("leaves", "leaves the skill", true),
        ("chain", "leaves the skill", true),
        ("parent/outside.txt", "leaves the skill", true),
        ("absolute", "leaves the skill", true),
        ("proc/etc/passwd", "leaves the skill", true),
        ("parent/a-skill/docs/plain.txt", "leaves the skill", true),
        (".skillenv", protected, true),
        (".SKILLENV", protected, false),
        (".SkillEnv", protected, false),
        (".skillenv.local", protected, false),
        (".cubesandbox.dockerfile", protected, true),
        (".CubeSandbox.Dockerfile", protected, false),
        ("docs/old.dockerfile", protected, true),
        ("docs/.SkillEnv.bak", protected, true),
        ("env-link", protected, true),
        ("env-hard", protected, true),
        ("env-dir/old.dockerfile", protected, true),
        ("docs", "not a regular file", false),
        ("docs/", "slash at the end", false),
        ("SKILL.md/", "slash at the end", false),
        ("SKILL.md/..", "`..` in the path", false),
        ("SKILL.md/x", "no such file", false),
        ("./SKILL.md", "empty part or `.`", true),
        ("docs//plain.txt", "empty part or `.`", true),
        ("docs\\plain.txt", "backslash", false),
        ("", "empty path", false),
        ("docs/plain.txt\n", "control character", false),
        ("skill.md", "no such file", false),
    ];
    for (path, reason, naive) in table {
        let output = skilljail(&["read", root, path]);
        assert_eq!(output.status.code(), Some(4), "{path}");
        assert_eq!(stdout(&output), "", "{path}");
        let told = stderr(&output);
        assert!(told.contains(reason), "{path}: {told}");
        assert_eq!(told.lines().count(), 1, "{path}: {told}");
        assert!(!told.contains(CANARY), "{path}");
        // The control: this is what the refusal stopped.
        let handed_out = fs::read(Path::new(root).join(path)).is_ok();
        assert_eq!(handed_out, naive, "{path}: the control");
    }
}

#[test]
fn what_is_in_the_skill_is_read() {
    let package = trapped();
    let root = package.root.to_str().unwrap();
    for path in ["docs/plain.txt", "inside", "env-dir/plain.txt"] {
        let output = skilljail(&["read", root, path]);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "plain"), "{path}");
    }
}

#[test]
fn nul_has_no_way_in() {
    let trapped = trapped();
    let package = Opened::open(&trapped.root).unwrap();
    assert!(matches!(read(&package, "docs/plain.txt\0.md"), Err(Refusal::Form(_))));
    assert!(matches!(read(&package, "\0"), Err(Refusal::Form(_))));
}

#[test]
fn the_location_of_list_is_read_and_no_other() {
    let package = Package::prompt();
    let skills = package.root.parent().unwrap().to_str().unwrap();
    let text = stdout(&skilljail(&["list", "--skills", skills, "--format", "json"]));
    let list: serde_json::Value = serde_json::from_str(&text).unwrap();
    let location = list["skills"][0]["location"].as_str().unwrap();
    let output = skilljail(&["read", "--skills", skills, "a-skill", location]);
    assert_eq!(stdout(&output), fs::read_to_string(location).unwrap());
    for path in [
        format!("{location}/"),
        location.replace("a-skill/", "a-skill/./"),
        location.replace("SKILL.md", "xray.json"),
    ] {
        assert_eq!(
            skilljail(&["read", "--skills", skills, "a-skill", &path]).status.code(),
            Some(4),
            "{path}"
        );
    }
    // The location of another skill is not this one's.
    let other = Package::prompt();
    let path = other.root.join("SKILL.md");
    assert_eq!(
        skilljail(&["read", "--skills", skills, "a-skill", path.to_str().unwrap()]).status.code(),
        Some(4)
    );
}

#[test]
fn sizes_and_kinds() {
    let max = usize::try_from(MAX_READ).unwrap();
    let package = Package::prompt()
        .file("max.txt", vec![b'x'; max])
        .file("over.txt", vec![b'x'; max + 1])
        .file("11.txt", vec![b'x'; 11 << 20])
        .file("binary", b"\xff\x00\x01")
        .file("nul.txt", b"a\0b");
    nix::unistd::mkfifo(&package.root.join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let root = package.root.to_str().unwrap();
    assert_eq!(skilljail(&["read", root, "max.txt"]).stdout.len(), max);
    for path in ["over.txt", "11.txt"] {
        let output = skilljail(&["read", root, path]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(4), 0));
        assert!(stderr(&output).contains("more than 10 MiB"));
    }
    let output = skilljail(&["read", root, "binary"]);
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("/wAB\n", Some(0)));
    assert!(stderr(&output).contains("base64"));
    assert_eq!(stdout(&skilljail(&["read", root, "nul.txt"])), "YQBi\n");
    // Nobody writes to the fifo: a reader that waited would never come back.
    let output = skilljail(&["read", root, "fifo"]);
    assert!(stderr(&output).contains("not a regular file"), "{}", stderr(&output));
}

#[test]
fn a_folder_that_is_swapped_for_a_symlink_gains_nothing() {
    let package = Package::prompt().file("docs/secret.txt", "plain");
    let outside = package.root.with_file_name("elsewhere");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.txt"), CANARY).unwrap();
    let (docs, aside, link) =
        (package.root.join("docs"), package.root.join("aside"), package.root.join("docs-link"));
    let stop = AtomicBool::new(false);
    let opened = Opened::open(&package.root).unwrap();
    let naive_sees = AtomicBool::new(false);
    let (mut plain, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::os::unix::fs::symlink("../elsewhere", &link).unwrap();
                fs::rename(&docs, &aside).unwrap();
                fs::rename(&link, &docs).unwrap();
                // The control: in this window a reader by path gets what lies outside.
                if fs::read_to_string(docs.join("secret.txt")).is_ok_and(|text| text == CANARY) {
                    naive_sees.store(true, Ordering::Relaxed);
                }
                fs::remove_file(&docs).unwrap();
                fs::rename(&aside, &docs).unwrap();
            }
        });
        for round in 0.. {
            match read(&opened, "docs/secret.txt") {
                Ok(bytes) => {
                    assert_eq!(bytes, b"plain");
                    plain += 1;
                }
                Err(_) => refused += 1,
            }
            if round > 2_000 && plain > 50 && refused > 50 || round > 500_000 {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(naive_sees.into_inner(), "the control");
    assert!(plain > 50 && refused > 50, "the race was run on both sides: {plain} read, {refused} refused");
}

#[test]
fn refusals_are_in_the_audit_log_and_reads_are_not() {
    let package = trapped();
    let root = package.root.to_str().unwrap();
    let log = package.root.with_file_name("audit.jsonl");
    let audit = log.to_str().unwrap();
    for path in ["docs/plain.txt", ".skillenv", "../outside.txt", "a\u{1b}[31m\nb"] {
        skilljail(&["read", root, path, "--audit", audit]);
    }
    let text = fs::read_to_string(&log).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let paths: Vec<&str> = lines.iter().map(|line| line["path"].as_str().unwrap()).collect();
    assert_eq!(paths, [".skillenv", "../outside.txt", "a\u{1b}[31m\nb"]);
    assert!(
        lines
            .iter()
            .all(|line| line["event"] == "read" && line["verdict"] == "refused" && line["reason"] != "")
    );
    assert!(!text.contains(CANARY));
    // A log that cannot be written: nothing is read.
    let output = skilljail(&["read", root, "docs/plain.txt", "--audit", "/nowhere/log"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0));
}

#[test]
fn expansion_is_for_the_body_of_skill_md() {
    let package = Package::python().front("metadata:\n  note: $TFROBOT_SKILL_DIR").body(
        "Run `${TFROBOT_SKILL_DIR}/scripts/main.py` for $TFROBOT_SESSION_ID.\n```\n$TFROBOT_SKILL_DIR\n```\n",
    );
    let root = package.root.to_str().unwrap();
    let output = skilljail(&["read", root, "SKILL.md", "--expand", "--session", "s-1"]);
    let text = stdout(&output);
    assert!(text.contains("note: $TFROBOT_SKILL_DIR\n"), "{text}");
    assert!(text.contains("Run `/skill/scripts/main.py` for s-1.\n```\n$TFROBOT_SKILL_DIR\n```\n"), "{text}");
    let told = |words: &[&str]| {
        let output = skilljail(&[&["read", root], words].concat());
        assert_eq!(output.status.code(), Some(4), "{words:?}");
        stderr(&output)
    };
    assert!(told(&["SKILL.md", "--expand"]).contains("give it with --session"));
    assert!(told(&["SKILL.md", "--expand", "--session", "a b"]).contains("--session: an id"));
    assert!(told(&["xray.json", "--expand"]).contains("SKILL.md only"));
    let prompt = Package::prompt().body("See $TFROBOT_SKILL_DIR, $HOME.\n");
    let output = skilljail(&["read", prompt.root.to_str().unwrap(), "SKILL.md", "--expand"]);
    assert!(stdout(&output).contains("See skill://a-skill/, $HOME.\n"));
    let unknown = Package::prompt().body("See $TFROBOT_NOTHING.\n");
    let output = skilljail(&["read", unknown.root.to_str().unwrap(), "SKILL.md", "--expand"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(
        stderr(&output).contains("SKILL.md:7: unknown placeholder $TFROBOT_NOTHING"),
        "{}",
        stderr(&output)
    );
}
