//! Each rule has a package that breaks it and nothing else, and a package next to it that does not.

use super::package::{CONTRACT, Package, SCRIPT};
use skilljail::skill::check::check;
use skilljail::skill::rules;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// A rule, what breaks it, and what keeps it. What else the first package breaks stands behind it.
struct Case {
    rule: &'static str,
    also: &'static [&'static str],
    fails: fn() -> Package,
    passes: fn() -> Package,
}

const fn case(rule: &'static str, fails: fn() -> Package, passes: fn() -> Package) -> Case {
    Case { rule, also: &[], fails, passes }
}

fn chmod(package: Package, path: &str, mode: u32) -> Package {
    fs::set_permissions(package.root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    package
}

fn fifo(package: Package, path: &str) -> Package {
    nix::unistd::mkfifo(&package.root.join(path), nix::sys::stat::Mode::S_IRWXU).unwrap();
    package
}

fn env(text: &str) -> Package {
    Package::python().file(".skillenv", text)
}

fn renamed(package: Package, name: &str) -> Package {
    let root = package.root.with_file_name(name);
    fs::rename(&package.root, &root).unwrap();
    Package { root, ..package }
}

fn cases() -> Vec<Case> {
    vec![
        Case {
            also: &[],
            ..case("SJ-K001", || Package::prompt().file("README.md", "").remove("SKILL.md"), Package::prompt)
        },
        case(
            "SJ-K002",
            || {
                let package = Package::prompt();
                fs::rename(package.root.join("SKILL.md"), package.root.join("skill.md")).unwrap();
                package
            },
            Package::prompt,
        ),
        case(
            "SJ-K003",
            || Package::prompt().file("SKILL.md", b"---\nname: a-skill\ndescription: \xe9\n---\n"),
            || Package::prompt().edit("SKILL.md", "Greets", "Grüßt"),
        ),
        case(
            "SJ-K004",
            || Package::prompt().edit("SKILL.md", "---\nname", "\u{feff}---\nname"),
            Package::prompt,
        ),
        case("SJ-K005", || Package::prompt().edit("SKILL.md", "\n", "\r\n"), Package::prompt),
        case("SJ-K006", || Package::prompt().edit("SKILL.md", "---\nname", "\n---\nname"), Package::prompt),
        case(
            "SJ-K007",
            || Package::prompt().edit("SKILL.md", "---\n#", "#"),
            || Package::prompt().body("a\n---\nb\n---\n"),
        ),
        case(
            "SJ-K008",
            || Package::prompt().front(&format!("license: {}", "x".repeat(70_000))),
            || Package::prompt().front(&format!("license: {}", "x".repeat(60_000))),
        ),
        case(
            "SJ-K009",
            || Package::prompt().edit("SKILL.md", "Greets people.", "It: greets"),
            || Package::prompt().edit("SKILL.md", "Greets people.", "\"It: greets\""),
        ),
        case(
            "SJ-K010",
            || Package::prompt().front("license: &x MIT"),
            || Package::prompt().front("license: \"&x MIT\""),
        ),
        case(
            "SJ-K011",
            || Package::prompt().front("description: Other."),
            || Package::prompt().front("metadata:\n  description: Other."),
        ),
        case(
            "SJ-K012",
            || Package::prompt().front("license: 1.0"),
            || Package::prompt().front("license: \"1.0\""),
        ),
        case("SJ-K013", || Package::prompt().edit("SKILL.md", "name: a-skill\n", ""), Package::prompt),
        case(
            "SJ-K014",
            || renamed(Package::prompt().edit("SKILL.md", "a-skill", "a--skill"), "a--skill"),
            Package::prompt,
        ),
        case("SJ-K015", || Package::prompt().edit("SKILL.md", "a-skill", "b-skill"), Package::prompt),
        case("SJ-K016", || Package::prompt().edit("SKILL.md", "Greets people.", "\"  \""), Package::prompt),
        case(
            "SJ-K017",
            || Package::prompt().edit("SKILL.md", "Greets", &"x".repeat(1_020)),
            || Package::prompt().edit("SKILL.md", "Greets people.", &"ü".repeat(1_024)),
        ),
        case(
            "SJ-K018",
            || Package::prompt().front(&format!("compatibility: {}", "x".repeat(501))),
            || Package::prompt().front(&format!("compatibility: {}", "x".repeat(500))),
        ),
        case(
            "SJ-K019",
            || Package::prompt().front("metadata: [a]"),
            || Package::prompt().front("metadata: {a: b}"),
        ),
        case(
            "SJ-K020",
            || Package::prompt().front("allowed-tools: {Read: yes}"),
            || Package::prompt().front("allowed-tools:\n  - Read\n  - Bash(git:*)"),
        ),
        case(
            "SJ-K021",
            || Package::prompt().front("version: two"),
            || Package::prompt().front("metadata:\n  version: two"),
        ),
        case(
            "SJ-K022",
            || Package::prompt().front("metadata:\n  version: 1.0"),
            || Package::prompt().front("metadata:\n  version: '1.0'"),
        ),
        case(
            "SJ-K023",
            || Package::new(Some("cubesandbox:python")),
            || Package::prompt().front("runtime: prompt-only"),
        ),
        case(
            "SJ-K024",
            || Package::prompt().front("license: \"a\\ab\""),
            || Package::prompt().front("license: \"a\\tb\""),
        ),
        case(
            "SJ-K025",
            || Package::prompt().body("Look at $TFROBOT_SKILLDIR/x.\n"),
            || Package::prompt().body("Look at $TFROBOT_SKILL_DIR/x, $HOME.\n```\n$TFROBOT_SKILLDIR\n```\n"),
        ),
        case(
            "SJ-K026",
            || Package::python().file("references/x.md", "").body("See references/x.md.\n"),
            || Package::prompt().file("references/x.md", "").body("See references/x.md.\n"),
        ),
        case(
            "SJ-K030",
            || Package::prompt().link("x", "../../etc/hostname"),
            || Package::prompt().file("assets/y", "").link("x", "assets/y"),
        ),
        case("SJ-K031", || Package::prompt().file("assets/y", "").link("x", "assets"), Package::prompt),
        case("SJ-K032", || Package::prompt().link("x", "y").link("y", "x"), Package::prompt),
        case(
            "SJ-K033",
            || env("A=1\n").link("notes.txt", ".skillenv"),
            || env("A=1\n").file("notes.txt", "A=1\n"),
        ),
        case("SJ-K034", || fifo(Package::prompt(), "x"), || Package::prompt().file("x", "")),
        case(
            "SJ-K035",
            || chmod(Package::prompt().file("x", ""), "x", 0o4755),
            || chmod(Package::prompt().file("x", ""), "x", 0o755),
        ),
        case(
            "SJ-K036",
            || chmod(Package::prompt().file("x", ""), "x", 0),
            || chmod(Package::prompt().file("x", ""), "x", 0o400),
        ),
        case("SJ-K037", || Package::prompt().file("a\u{1b}b", ""), || Package::prompt().file("a b ü", "")),
        case(
            "SJ-K038",
            || Package::prompt().file("Notes.md", "").file("notes.md", ""),
            || Package::prompt().file("a/Notes.md", "").file("b/notes.md", ""),
        ),
        case(
            "SJ-K039",
            || Package::prompt().file(&("d/".repeat(20) + "x"), ""),
            || Package::prompt().file(&("d/".repeat(12) + "x"), ""),
        ),
        case(
            "SJ-K040",
            || Package::python().file("scripts/__pycache__/main.cpython-311.pyc", ""),
            || Package::python().file("scripts/so.txt", ""),
        ),
        case(
            "SJ-K050",
            || Package::python().file(".e2b.dockerfile", "FROM x"),
            || Package::new(Some("e2b")).file(".e2b.dockerfile", "FROM x"),
        ),
        case(
            "SJ-K051",
            || Package::new(Some("cubesandbox")),
            || Package::new(Some("cubesandbox")).file(".cubesandbox.dockerfile", "FROM x"),
        ),
        case("SJ-K052", || Package::prompt().file(".skillenv", "A=1\n"), || env("A=1\n")),
        case(
            "SJ-K053",
            || Package::python().file("out/x.txt", "x"),
            || Package::python().file("outer/x.txt", "x").file("assets/out/x.txt", "x"),
        ),
        case("SJ-K060", || Package::python().remove("xray.json"), Package::python),
        case(
            "SJ-K061",
            || Package::python().edit("xray.json", "\"none\",", "\"none\", \"network\": \"none\","),
            Package::python,
        ),
        case("SJ-K062", || Package::python().edit("xray.json", "\"network\"", "\"net\""), Package::python),
        case(
            "SJ-K063",
            || Package::python().edit("xray.json", "\"none\"", "\"all\""),
            || Package::python().edit("xray.json", "\"none\"", "\"egress\""),
        ),
        case("SJ-K064", || Package::python().edit("xray.json", "main.py", "mian.py"), Package::python),
        case(
            "SJ-K065",
            || Package::python().edit("xray.json", "main.py", "../scripts/main.py"),
            || {
                Package::python()
                    .edit("xray.json", "main.py", "sub/main.py")
                    .file("scripts/sub/main.py", SCRIPT)
            },
        ),
        case(
            "SJ-K066",
            || Package::python().file("scripts/other.py", "if __name__ == \"__main__\":\n    print(1)\n"),
            || Package::python().file("scripts/other.py", "def helper():\n    return 1\n"),
        ),
        case(
            "SJ-K067",
            || Package::python().parameter(r#"{"type": "string"}"#),
            || Package::python().parameter(r#"{"type": "string", "maxLength": 1}"#),
        ),
        case(
            "SJ-K068",
            || Package::python().parameter(r#"{"type": "integer", "minimum": 2, "maximum": 1}"#),
            || Package::python().parameter(r#"{"type": "integer", "minimum": 1, "maximum": 1}"#),
        ),
        case(
            "SJ-K069",
            || Package::python().parameter(r#"{"type": "string", "maxLength": 5000}"#),
            || Package::python().parameter(r#"{"type": "string", "maxLength": 4000}"#),
        ),
        case(
            "SJ-K070",
            || Package::prompt().file("xray.json", CONTRACT).file("scripts/main.py", SCRIPT),
            Package::python,
        ),
        case("SJ-K080", || env("A=\"x\"\n"), || env("# A\nA=x\"y\nB=\n\n")),
        case("SJ-K081", || env("A=1\nA=\n"), || env("A=1\nB=\n")),
        case("SJ-K082", || env("PYTHONPATH=/x\n"), || env("MY_PYTHONPATH=/x\n")),
        case("SJ-K083", || env("api-key=1\n"), || env("API_KEY=1\n")),
        case(
            "SJ-K100",
            || Package::python().script("def f(:\n"),
            || Package::python().script("type A[T] = list[T]\n"),
        ),
        case(
            "SJ-K101",
            || Package::python().script(&("x = ".to_owned() + &"[".repeat(300) + &"]".repeat(300))),
            || Package::python().script(&("x = ".to_owned() + &"[".repeat(90) + &"]".repeat(90))),
        ),
        case(
            "SJ-K102",
            || Package::python().script("import subprocess as s\n"),
            || Package::python().script("import shlex\n"),
        ),
        case(
            "SJ-K103",
            || Package::python().script("from http import client\n"),
            || {
                Package::python()
                    .edit("xray.json", "\"none\"", "\"egress\"")
                    .script("from http import client\nimport ssl, socket\n")
            },
        ),
        case(
            "SJ-K104",
            || Package::python().script("from os import system as s\ns('x')\n"),
            || Package::python().script("from os import path as s\ns.join('x')\n"),
        ),
        case(
            "SJ-K105",
            || Package::python().script("eval('1')\n"),
            || Package::python().script("import ast\nast.literal_eval('1')\n"),
        ),
        case(
            "SJ-K106",
            || Package::python().script("import importlib\nimportlib.import_module(input())\n"),
            || Package::python().script("import importlib\nimportlib.import_module('json')\n"),
        ),
        case(
            "SJ-K107",
            || Package::python().script("open('/etc/x', 'w')\n"),
            || Package::python().script("open('/workdir/out/x', 'w')\nopen('/etc/hosts')\n"),
        ),
        case(
            "SJ-K108",
            || Package::python().script("import sys\nprint(sys.argv)\n"),
            || Package::python().script("import sys\nprint(sys.stdin.read())\n"),
        ),
        case(
            "SJ-K109",
            || Package::python().script("import os\nos.environ['KEY']\n"),
            || env("KEY=1\n").script("import os\nos.environ['KEY']\n"),
        ),
        case(
            "SJ-K110",
            || Package::python().script("import nothing_of_that_name\n"),
            || Package::python().script("import json, helper\n").file("scripts/helper.py", ""),
        ),
    ]
}

/// Checks with a runtime that holds the standard library only, as a user who may not read everything.
fn rules_of(package: &Package) -> BTreeSet<&'static str> {
    let runtime = Some(BTreeSet::new());
    let verdict = check(&package.root, runtime).unwrap();
    verdict.findings.iter().map(|finding| finding.rule.id).collect()
}

#[test]
fn each_rule_fails_and_passes() {
    // Root reads everything; without these two capabilities it is judged like anybody. They are this thread's own.
    for capability in [caps::Capability::CAP_DAC_OVERRIDE, caps::Capability::CAP_DAC_READ_SEARCH] {
        if caps::has_cap(None, caps::CapSet::Effective, capability).unwrap() {
            caps::drop(None, caps::CapSet::Effective, capability).unwrap();
        }
    }
    let cases = cases();
    for Case { rule, also, fails, passes } in &cases {
        let found = rules_of(&fails());
        let expected: BTreeSet<&str> = also.iter().copied().chain([*rule]).collect();
        assert_eq!(found, expected, "{rule}: the failing package");
        assert_eq!(rules_of(&passes()), BTreeSet::new(), "{rule}: the passing package");
    }
    let covered: Vec<&str> = cases.iter().map(|case| case.rule).collect();
    let all: Vec<&str> = rules::ALL.iter().map(|rule| rule.id).collect();
    assert_eq!(covered, all, "a rule without a fixture, or out of order");
}

#[test]
fn findings_name_the_place() {
    let package = Package::python().front("license: on").parameter(r#"{"type": "string"}"#);
    let verdict = check(&package.root, None).unwrap();
    let places: Vec<String> = verdict.findings.iter().map(|f| f.place()).collect();
    assert_eq!(places, ["SKILL.md:4:10", "xray.json:8:31"]);
    assert!(!verdict.standard);
}
