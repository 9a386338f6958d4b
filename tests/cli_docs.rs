//! The documents in `tests/cli` run: each `console` block is one command and what it prints.
//!
//! After `$ ` stands the command, below it stdout and then stderr, and last `? N` where the exit code is not 0. A line `...` stands for
//! any lines, `[..]` for anything within a line. Each document runs in a directory of its own, in which there are only `skills`, the
//! shipped ones, and `broken`, skills with faults.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::Command;

struct Example {
    line: usize,
    command: String,
    output: Vec<String>,
    code: i32,
}

fn examples(text: &str) -> Vec<Example> {
    let (mut found, mut inside) = (Vec::<Example>::new(), false);
    for (at, line) in text.lines().enumerate() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (false, _) => {}
            (true, _) => {
                if let Some(command) = line.strip_prefix("$ ") {
                    found.push(Example {
                        line: at + 1,
                        command: command.to_owned(),
                        output: Vec::new(),
                        code: 0,
                    });
                } else {
                    let example = found.last_mut().expect("a block begins with a command");
                    match line.strip_prefix("? ") {
                        Some(code) => example.code = code.parse().expect("an exit code"),
                        None => example.output.push(line.to_owned()),
                    }
                }
            }
        }
    }
    found
}

fn line_matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split("[..]");
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else { return false };
    let mut open = false;
    for part in parts {
        open = part.is_empty();
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    open || rest.is_empty()
}

fn matches(pattern: &[String], lines: &[&str]) -> bool {
    match pattern.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "..." => (0..=lines.len()).any(|skip| matches(rest, &lines[skip..])),
        Some((first, rest)) => {
            lines.split_first().is_some_and(|(line, below)| line_matches(first, line) && matches(rest, below))
        }
    }
}

fn run(document: &Path) {
    let text = fs::read_to_string(document).unwrap();
    let (folder, examples) = (tempfile::tempdir().unwrap(), examples(&text));
    assert!(!examples.is_empty(), "{}: no example", document.display());
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, target) in [("skills", "skills"), ("broken", "tests/fixtures/skills/broken")] {
        std::os::unix::fs::symlink(repository.join(target), folder.path().join(name)).unwrap();
    }
    for example in examples {
        let mut words = example.command.split_whitespace();
        assert_eq!(words.next(), Some("skilljail"), "{}:{}", document.display(), example.line);
        let output = Command::new(env!("CARGO_BIN_EXE_skilljail"))
            .args(words)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        let lines: Vec<_> = text.lines().collect();
        let place = format!("{}:{}: {}", document.display(), example.line, example.command);
        assert_eq!(output.status.code(), Some(example.code), "{place}\n{text}");
        assert!(matches(&example.output, &lines), "{place}\nprinted:\n{text}");
    }
}

#[test]
fn every_document_says_what_happens() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    let mut documents: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    documents.sort();
    assert!(documents.len() >= 2, "{documents:?}");
    documents.iter().for_each(|document| run(document));
}

#[test]
fn patterns_match_what_they_say_and_nothing_else() {
    let check = |pattern: &str, text: &str| {
        let pattern: Vec<_> = pattern.lines().map(str::to_owned).collect();
        matches(&pattern, &text.lines().collect::<Vec<_>>())
    };
    assert!(check("a\n...\nd", "a\nb\nc\nd"));
    assert!(check("a [..] c", "a b c") && check("a[..]", "a b") && check("...", ""));
    assert!(!check("a\n...\nd", "a\nb\nc"), "an end that is missing");
    assert!(!check("a", "a\nb") && !check("a\nb", "a"), "a line too many, a line too few");
    assert!(!check("a [..] c", "a b d") && !check("[..]b", "abc"));
}
