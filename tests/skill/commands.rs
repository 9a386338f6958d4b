//! `check`, `list` and `manifest` as they are called.

use super::package::{CONTRACT, Package, SCRIPT, skilljail, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn skill(below: &Path, folder: &str, name: &str) {
    fs::create_dir_all(below.join(folder)).unwrap();
    fs::write(
        below.join(folder).join("SKILL.md"),
        format!("---\nname: {name}\ndescription: In {folder} <&>.\n---\n"),
    )
    .unwrap();
}

#[test]
fn codes_follow_the_severity() {
    let good = Package::python();
    let warned = Package::prompt().front("extra: x");
    let failed = Package::python().script("eval('1')\n");
    let [good, warned, failed] = [&good, &warned, &failed].map(|package| package.root.to_str().unwrap());
    for (words, code) in [
        (vec![good], 0),
        (vec![warned], 0),
        (vec![good, "--deny", "warnings"], 0),
        (vec![warned, "--deny", "warnings"], 1),
        (vec![failed], 1),
        (vec![good, failed, warned], 1),
        (vec![good, "/nowhere"], 3),
        (vec![good, "--deny", "notes"], 2),
        (vec![], 2),
    ] {
        for format in ["text", "json", "sarif"] {
            let output = skilljail(&[&["check", "--format", format], &words[..]].concat());
            assert_eq!(output.status.code(), Some(code), "{words:?} {format}: {}", stderr(&output));
        }
    }
}

#[test]
fn text_is_grouped_by_file_and_safe_for_a_terminal() {
    let package =
        Package::python().front("license: on").script("eval('1')\nexec('1')\n").file("a\u{1b}[2Jb", "");
    let root = package.root.to_str().unwrap();
    let text = stdout(&skilljail(&["check", root]));
    let expected = format!(
        "{root}/SKILL.md\n  {root}/SKILL.md:4:10: error SJ-K012 field-not-text: license: a YAML reader turns `on` into a boolean\n    why: "
    );
    assert!(text.starts_with(&expected), "{text}");
    assert!(text.contains("\n    hint: write license: \"on\"\n"), "{text}");
    assert_eq!(text.matches(&format!("\n{root}/scripts/main.py\n")).count(), 1, "{text}");
    assert!(text.contains(&format!("  {root}/scripts/main.py:2:1: error SJ-K105 ")), "{text}");
    assert!(text.contains("a\\u{1b}[2Jb") && !text.contains('\u{1b}'), "{text}");
    assert!(text.contains("the jail does not rely on it"), "{text}");
}

#[test]
fn json_says_the_same() {
    let package = Package::python().remove("xray.json");
    let answer = json(&stdout(&skilljail(&["check", "--format", "json", package.root.to_str().unwrap()])));
    let skill = &answer["skills"][0];
    assert_eq!(skill["standard"], true);
    assert_eq!(skill["runnable"], "only with contract: optional");
    assert_eq!(skill["findings"][0]["rule"], "SJ-K060");
    assert_eq!(skill["findings"][0]["line"], Value::Null);
    assert!(skill["findings"][0]["why"].as_str().unwrap().len() > 10);
}

#[test]
fn rules_are_explained() {
    for rule in skilljail::skill::rules::ALL {
        let output = skilljail(&["check", "--explain", &rule.id.to_lowercase()]);
        assert!(stdout(&output).starts_with(&format!("{} {}\n", rule.id, rule.name)), "{}", rule.id);
    }
    let output = skilljail(&["check", "--explain", "SJ-K999"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("hint:"));
}

#[test]
fn a_runtime_tells_which_packages_there_are() {
    let runtime = tempfile::tempdir().unwrap();
    fs::create_dir_all(runtime.path().join("lib/python3.11/site-packages/numpy")).unwrap();
    let package = Package::python().script("import json, numpy, pandas\n");
    let words = ["check", package.root.to_str().unwrap(), "--runtime", runtime.path().to_str().unwrap()];
    let text = stdout(&skilljail(&words));
    assert!(
        text.contains("SJ-K110 import-absent: imports pandas") && !text.contains("imports numpy"),
        "{text}"
    );
    let output = skilljail(&["check", package.root.to_str().unwrap(), "--runtime", "/nowhere"]);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn list_finds_what_it_is_told_to_search_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let [first, second] = ["one", "two"].map(|name| dir.path().canonicalize().unwrap().join(name));
    skill(&first, "b", "b");
    skill(&first, "group/a", "a");
    skill(&first, "b/inner", "inner");
    skill(&first, ".hidden/h", "h");
    skill(&first, "node_modules/m", "m");
    skill(&first, "bad", "other-name");
    skill(&second, "b", "b");
    skill(&second, "c", "c");
    std::os::unix::fs::symlink(first.join("group"), second.join("again")).unwrap();
    let words =
        ["list", "--skills", first.to_str().unwrap(), "--skills", second.to_str().unwrap(), "--format"];
    let output = skilljail(&[&words[..], &["json"]].concat());
    let list = json(&stdout(&output));
    let field = |name: &str| -> Vec<String> {
        list["skills"]
            .as_array()
            .unwrap()
            .iter()
            .map(|skill| skill[name].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(field("name"), ["b", "a", "c"]);
    assert_eq!(field("tier"), ["prompt-only"; 3]);
    assert_eq!(field("location")[0], first.join("b/SKILL.md").to_str().unwrap());
    let told = stderr(&output);
    assert!(told.contains("two/b: left out:") && told.contains("has the name b already"), "{told}");
    assert!(told.contains("one/bad: left out: SKILL.md:2: ") && told.contains("SJ-K015"), "{told}");
    assert_eq!(told.lines().count(), 2, "{told}");
    assert_eq!(list["problems"].as_array().unwrap().len(), 2);

    let xml = stdout(&skilljail(&[&words[..], &["xml"]].concat()));
    let first_skill = format!(
        "<available_skills>\n<skill>\n<name>b</name>\n<description>In b &lt;&amp;&gt;.</description>\n<location>{}</location>\n</skill>\n",
        first.join("b/SKILL.md").display()
    );
    assert!(xml.starts_with(&first_skill) && xml.ends_with("</available_skills>\n"), "{xml}");

    assert_eq!(skilljail(&["list"]).status.code(), Some(2), "nothing is discovered by itself");
    let output = skilljail(&["list", "--skills", "/nowhere"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(3), ""));
    assert!(stderr(&output).contains("/nowhere") && stderr(&output).contains("hint:"));
}

#[test]
fn list_tells_scripts_and_their_schemas() {
    let package = Package::python();
    let skills = package.root.parent().unwrap().to_str().unwrap();
    let list = json(&stdout(&skilljail(&["list", "--skills", skills, "--format", "json"])));
    let script = &list["skills"][0]["scripts"][0];
    assert_eq!(script["name"], "main.py");
    let contract = json(CONTRACT);
    let declared = &contract["scripts"]["main.py"]["parameters"];
    assert_eq!(script["parameters"]["properties"], declared["properties"]);
    assert_eq!(script["parameters"]["required"], declared["required"]);
    assert_eq!(script["parameters"]["additionalProperties"], false);
}

#[test]
fn a_manifest_is_the_same_bytes_and_finds_drift() {
    let package = Package::python().file(".skillenv", "A=1\n").file("z.txt", "z");
    let skills = package.root.parent().unwrap().to_str().unwrap().to_owned();
    let build =
        |format: &str| stdout(&skilljail(&["manifest", "build", "--skills", &skills, "--format", format]));
    let text = build("json");
    assert_eq!(text, build("json"));
    let manifest = json(&text);
    let entry = &manifest["skills"]["a-skill"];
    let paths: Vec<&String> = entry["files"].as_object().unwrap().keys().collect();
    assert_eq!(paths, [".skillenv", "SKILL.md", "scripts/main.py", "xray.json", "z.txt"]);
    assert_eq!((&entry["tier"], &entry["scripts"][0]), (&"cubesandbox::python".into(), &"main.py".into()));
    // The digests are those of sha256sum; the skill's is that of its output.
    let script = &entry["files"]["scripts/main.py"];
    assert_eq!(script["size"], SCRIPT.len());
    let sums = std::process::Command::new("sha256sum")
        .args(["SKILL.md", "scripts/main.py", "xray.json", "z.txt"])
        .current_dir(&package.root)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&sums.stdout).contains(script["sha256"].as_str().unwrap()));
    let lines = package.root.with_file_name("lines");
    fs::write(&lines, &sums.stdout).unwrap();
    let sum = std::process::Command::new("sha256sum").arg(&lines).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&sum.stdout).split(' ').next().unwrap(),
        entry["digest"].as_str().unwrap()
    );
    // TypeScript from the same data.
    let typescript = build("ts");
    let (_, value) = typescript.split_once("export const manifest: Manifest = ").unwrap();
    assert_eq!(json(value.split_once(";\n").unwrap().0), manifest);

    let file = package.root.with_file_name("manifest.json");
    fs::write(&file, &text).unwrap();
    let verify = || skilljail(&["manifest", "verify", "--skills", &skills, file.to_str().unwrap()]);
    assert_eq!((verify().status.code(), stdout(&verify()).as_str()), (Some(0), ""));
    let package = package.file("new.txt", "").file(".skillenv", "A=2\n").remove("z.txt");
    let output = verify();
    assert_eq!(output.status.code(), Some(121));
    assert_eq!(stdout(&output), "changed a-skill/.skillenv\nadded a-skill/new.txt\nmissing a-skill/z.txt\n");
    skill(package.root.parent().unwrap(), "b", "b");
    assert!(stdout(&verify()).ends_with("added b\n"));
    // A skill that is refused has no manifest: its links cannot be held by digests.
    let package = package.link("x", "/etc/passwd");
    for output in [verify(), skilljail(&["manifest", "build", "--skills", &skills])] {
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(121), ""));
        assert!(stderr(&output).contains("SJ-K030"), "{}", stderr(&output));
    }
    fs::write(&file, "{}").unwrap();
    assert_eq!(verify().status.code(), Some(3));
    drop(package);
}

#[test]
fn run_refuses_a_skill_that_drifted() {
    let package = Package::python();
    let skills = package.root.parent().unwrap().to_str().unwrap().to_owned();
    let beside = |name: &str| package.root.with_file_name(name).to_str().unwrap().to_owned();
    let (manifest, input) = (beside("manifest.json"), beside("input.json"));
    fs::write(&manifest, skilljail(&["manifest", "build", "--skills", &skills]).stdout).unwrap();
    fs::write(&input, r#"{"who": "you"}"#).unwrap();
    let runtime = super::support::runtime().to_str().unwrap();
    let words = [
        "run",
        "--skills",
        &skills,
        "--runtime",
        runtime,
        "--manifest",
        &manifest,
        "--input",
        &input,
        "a-skill",
        "main.py",
    ];
    let output = skilljail(&words);
    assert_eq!(
        (stdout(&output).as_str(), output.status.code()),
        ("{\"hello\": \"you\"}\n", Some(0)),
        "{}",
        stderr(&output)
    );
    let package = package.file("scripts/more.py", "").edit("scripts/main.py", "hello", "bye");
    let output = skilljail(&words);
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("", Some(121)));
    let told = stderr(&output);
    assert!(told.contains("changed a-skill/scripts/main.py, added a-skill/scripts/more.py"), "{told}");
    drop(package);
}

#[test]
fn two_skills_of_one_name_have_no_manifest() {
    let dir = tempfile::tempdir().unwrap();
    skill(dir.path(), "a", "a");
    skill(dir.path(), "group/a", "a");
    let output = skilljail(&["manifest", "build", "--skills", dir.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(121));
    assert!(stderr(&output).contains("two skills are named a"), "{}", stderr(&output));
}
