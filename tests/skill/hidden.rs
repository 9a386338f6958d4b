//! `.skillenv` is invisible: nothing that any command prints about a skill holds a literal, a secret or a comment of it.

use super::package::{CONTRACT, Package, SCRIPT, skilljail};
use super::support;
use base64::Engine as _;
use skilljail::skill::Skill;
use std::fs;

const LITERAL: &str = "canaryLITERALq7";
const SECRET: &str = "canarySECRETq7";
const COMMENT: &str = "canaryCOMMENTq7";
const CANARIES: [&str; 3] = [LITERAL, SECRET, COMMENT];
/// Names of keys may be told by `check`, and among a result's secrets; nowhere else.
const KEYS: [&str; 2] = ["CANARY_LITERAL_KEY", "CANARY_SECRET_KEY"];

fn skill(env: &str) -> Package {
    Package::python()
        .file("xray.json", CONTRACT)
        .file("scripts/main.py", SCRIPT)
        .file("binary", b"\xff\x00")
        .body("Files are in $TFROBOT_SKILL_DIR.\n")
        .file(".skillenv", env)
}

fn good() -> String {
    format!("# {COMMENT}\nCANARY_LITERAL_KEY={LITERAL}\nCANARY_SECRET_KEY=\n")
}

/// Every fault that a line can have, with a canary in it.
fn faulty() -> String {
    let lines = [
        LITERAL.to_owned(),
        format!("{LITERAL}=1"),
        format!(" {LITERAL}=1"),
        format!("A=\"{LITERAL}\""),
        format!("B= {LITERAL}"),
        format!("C={LITERAL}\\"),
        format!("D=${{{LITERAL}}}"),
        format!("E={LITERAL}\r"),
        format!("PATH={LITERAL}"),
        format!("F={LITERAL}"),
        format!("F={LITERAL}"),
        format!("export G={LITERAL}"),
        format!("#{COMMENT}"),
    ];
    lines.join("\n")
}

/// What a command printed, by its words.
type Printed = Vec<(String, Vec<u8>)>;

/// Everything that any command can print about the skill.
fn everything(package: &Package) -> Printed {
    let root = package.root.to_str().unwrap();
    let skills = package.root.parent().unwrap().to_str().unwrap();
    let beside = |name: &str| package.root.with_file_name(name).to_str().unwrap().to_owned();
    let (audit, report, manifest, secrets) =
        (beside("audit"), beside("report"), beside("m.json"), beside("secrets"));
    fs::write(&secrets, format!("# {COMMENT}\nCANARY_SECRET_KEY={SECRET}\n")).unwrap();
    let input = beside("input.json");
    fs::write(&input, r#"{"who": "you"}"#).unwrap();
    let built = skilljail(&["manifest", "build", "--skills", skills]);
    fs::write(&manifest, &built.stdout).unwrap();
    let mut commands: Vec<Vec<&str>> = vec![
        vec!["list", "--skills", skills],
        vec!["list", "--skills", skills, "--format", "json"],
        vec!["list", "--skills", skills, "--format", "xml"],
        vec!["check", root],
        vec!["check", root, "--format", "json"],
        vec!["check", root, "--format", "sarif"],
        vec!["manifest", "build", "--skills", skills],
        vec!["manifest", "build", "--skills", skills, "--format", "ts"],
        vec!["manifest", "verify", "--skills", skills, &manifest],
        vec!["read", root, "SKILL.md", "--expand", "--audit", &audit],
    ];
    for path in [
        "SKILL.md",
        "xray.json",
        "scripts/main.py",
        "binary",
        ".skillenv",
        ".SKILLENV",
        "./.skillenv",
        "x/../.skillenv",
        "notes.txt",
    ] {
        commands.push(vec!["read", root, path, "--audit", &audit]);
    }
    // With secrets and without them, for the stream and for the document.
    let runtime = support::runtime().to_str().unwrap();
    let run = [
        "run",
        root,
        "main.py",
        "--input",
        &input,
        "--audit",
        &audit,
        "--report",
        &report,
        "--runtime",
        runtime,
    ];
    for more in [
        &["--secrets", &secrets][..],
        &[],
        &["--json", "--secrets", &secrets],
        &["--json"],
        &["--secrets", root],
    ] {
        commands.push([&run[..], more].concat());
    }
    let mut printed = Vec::new();
    for words in commands {
        let output = skilljail(&words);
        printed.push((words.join(" "), [output.stdout, output.stderr].concat()));
        for path in [&audit, &report] {
            if let Ok(bytes) = fs::read(path) {
                printed.push((format!("{} ({path})", words.join(" ")), bytes));
            }
        }
    }
    let opened = Skill::examine(&package.root).unwrap();
    printed.push(("Debug of the skill".into(), format!("{opened:?} {opened:#?}").into_bytes()));
    if let Ok(loaded) = opened.load() {
        printed.push((
            "what goes into the jail".into(),
            loaded.files.iter().flat_map(|file| file.bytes.clone()).collect(),
        ));
    }
    printed
}

/// Where a word shows up: as it is, in hexadecimal, in base64 at any alignment.
fn found(printed: &Printed, word: &str) -> Vec<String> {
    let base64 = base64::engine::general_purpose::STANDARD_NO_PAD;
    let hex: String = word.bytes().map(|b| format!("{b:02x}")).collect();
    // The first and the last characters of base64 depend on what stands beside.
    let aligned = (0..3).map(|shift| {
        let text = base64.encode([&vec![b'x'; shift], word.as_bytes()].concat());
        text[shift + 1..text.len() - 2].to_owned()
    });
    let forms: Vec<String> = aligned.chain([word.to_owned(), hex]).collect();
    let holds = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        forms.iter().any(|form| text.contains(form.as_str()))
    };
    printed.iter().filter(|(_, bytes)| holds(bytes)).map(|(words, _)| words.clone()).collect()
}

#[test]
fn nothing_that_is_printed_holds_a_canary() {
    for env in [good(), faulty(), good() + &faulty()] {
        let package = skill(&env);
        let printed = everything(&package);
        if env == good() {
            // Not everything was refused: there is a run with its document.
            let (words, document) =
                printed.iter().find(|(words, _)| words.contains("--json --secrets")).unwrap();
            let document = String::from_utf8_lossy(document);
            assert!(
                document.contains("\"status\":\"ok\"") && document.contains(KEYS[1]),
                "{words}: {document}"
            );
        }
        for canary in CANARIES {
            assert_eq!(found(&printed, canary), Vec::<String>::new(), "{canary}");
        }
        let elsewhere: Printed = printed
            .into_iter()
            .filter(|(words, _)| {
                !words.starts_with("check") && !words.starts_with("run") && !words.starts_with("Debug")
            })
            .filter(|(words, _)| !words.starts_with("manifest"))
            .collect();
        for key in KEYS {
            assert_eq!(found(&elsewhere, key), Vec::<String>::new(), "{key}");
        }
    }
}

#[test]
fn a_leak_is_caught() {
    // The same search over a skill that leaks on purpose: its `.skillenv` has an innocent copy, and each way out shows it.
    let package = skill(&good()).file("notes.txt", good()).edit(
        "SKILL.md",
        "Files are",
        &format!("The key is {SECRET}. Files are"),
    );
    let printed = everything(&package);
    let root = package.root.to_str().unwrap();
    let notes = format!("read {root} notes.txt");
    for canary in [LITERAL, COMMENT] {
        let places = found(&printed, canary);
        assert!(places.iter().any(|words| words.starts_with(&notes)), "{canary}: {places:?}");
        assert!(places.contains(&"what goes into the jail".to_owned()), "{canary}: {places:?}");
    }
    assert!(found(&printed, SECRET).iter().any(|words| words.starts_with(&format!("read {root} SKILL.md"))));
    // In the disguises that are looked for.
    for shift in 0..3 {
        let bytes = [&vec![0; shift], LITERAL.as_bytes(), b"\0\0"].concat();
        let text = base64::engine::general_purpose::STANDARD.encode(bytes);
        assert_eq!(found(&vec![("leak".into(), text.into_bytes())], LITERAL), ["leak"], "{shift}");
    }
    let hex: String = SECRET.bytes().map(|b| format!("{b:02x}")).collect();
    assert_eq!(found(&vec![("leak".into(), hex.into_bytes())], SECRET), ["leak"]);
}

#[test]
fn the_fault_of_a_secrets_file_is_told_without_its_text() {
    let error = skilljail::skill::env::parse_secrets(format!("OK=1\n{SECRET}\n").as_bytes()).unwrap_err();
    assert_eq!(error.line, 2);
    assert!(!format!("{error} {error:?}").contains(SECRET));
}
