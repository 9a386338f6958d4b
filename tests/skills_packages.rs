//! The shipped skills as packages: each has its text, its contract, and for each script an example that keeps the
//! contract. That the scripts do what the examples say is tested where they run, in the jail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};

const INPUT_BYTES: u64 = 4096;

/// Every shipped skill with its declared runtime: one more or one less is a decision, not an accident.
const SHIPPED: [(&str, &str); 10] = [
    ("csv-aggregator", "cubesandbox::python"),
    ("date-calc", "cubesandbox::python"),
    ("deploy-helper", "prompt-only"),
    ("json-diff", "cubesandbox::python"),
    ("plot-png", "cubesandbox::python"),
    ("sqlite-query", "cubesandbox::python"),
    ("table-stats", "cubesandbox::python"),
    ("video-thumbnail", "cubesandbox"),
    ("web-fetch", "cubesandbox::python"),
    ("word-count", "cubesandbox::python"),
];

fn skills() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("skills")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().expect("names are UTF-8")).collect();
    names.sort();
    names
}

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The frontmatter's lines `key: value`, top level only.
fn frontmatter(skill: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(skill.join("SKILL.md")).expect("SKILL.md");
    let inner = text.strip_prefix("---\n").expect("SKILL.md begins with a fence");
    let (head, body) = inner.split_once("\n---\n").expect("SKILL.md has a closing fence");
    assert!(body.trim().len() > 300, "{}: the body explains nothing", skill.display());
    head.lines()
        .filter(|line| !line.starts_with(' '))
        .map(|line| line.split_once(':').expect("key: value"))
        .map(|(key, value)| (key.to_owned(), value.trim().trim_matches('"').to_owned()))
        .collect()
}

#[test]
fn the_shipped_skills_are_the_ten_and_say_who_they_are() {
    let expected: Vec<_> = SHIPPED.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&skills()), expected);
    for (name, runtime) in SHIPPED {
        let fields = frontmatter(&skills().join(name));
        let field = |key: &str| fields.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str());
        assert_eq!(field("name"), Some(name));
        assert_eq!(field("runtime"), Some(runtime), "{name}");
        let description = field("description").unwrap_or_default().chars().count();
        assert!((50..=1024).contains(&description), "{name}: description of {description} characters");
        assert!(field("compatibility").unwrap_or_default().chars().count() <= 500, "{name}");
    }
}

#[test]
fn the_runtime_decides_which_files_there_are() {
    for (name, runtime) in SHIPPED {
        let skill = skills().join(name);
        assert_eq!(skill.join(".cubesandbox.dockerfile").exists(), runtime == "cubesandbox", "{name}");
        for file in ["scripts", "examples", "xray.json"] {
            assert_eq!(skill.join(file).exists(), runtime != "prompt-only", "{name}: {file}");
        }
    }
}

/// One parameter of the closed subset; a string has a bound.
fn assert_parameter(place: &str, parameter: &Value) {
    let object = parameter.as_object().unwrap_or_else(|| panic!("{place}: not an object"));
    let kind = parameter["type"].as_str().unwrap_or_default();
    let allowed: &[&str] = match kind {
        "string" => &["type", "description", "maxLength", "enum"],
        "integer" => &["type", "description", "minimum", "maximum", "enum"],
        "boolean" => &["type", "description"],
        other => panic!("{place}: type {other:?}"),
    };
    for key in object.keys() {
        assert!(allowed.contains(&key.as_str()), "{place}: {key} with a {kind}");
    }
    assert!(kind != "string" || parameter["maxLength"].is_u64(), "{place}: a string without maxLength");
    assert!(parameter["description"].as_str().is_some_and(|d| d.len() > 8), "{place}: no description");
}

fn scripts_of(skill: &Path) -> Map<String, Value> {
    let contract = json(&skill.join("xray.json"));
    let network = if skill.ends_with("web-fetch") { "egress" } else { "none" };
    assert_eq!(contract["network"], network, "{}", skill.display());
    contract["scripts"].as_object().expect("scripts").clone()
}

#[test]
fn every_contract_is_of_the_closed_subset_and_names_files_that_exist() {
    for (name, _) in SHIPPED.iter().filter(|(_, runtime)| *runtime != "prompt-only") {
        let skill = skills().join(name);
        for (script, declared) in scripts_of(&skill) {
            assert!(skill.join("scripts").join(&script).is_file(), "{name}: {script} is missing");
            let parameters = &declared["parameters"];
            assert_eq!(parameters["type"], "object", "{name} {script}");
            let properties = parameters["properties"].as_object().expect("properties");
            for (key, parameter) in properties {
                assert_parameter(&format!("{name} {script} {key}"), parameter);
            }
            for key in parameters["required"].as_array().expect("required") {
                assert!(properties.contains_key(key.as_str().unwrap()), "{name} {script}: required {key}");
            }
        }
    }
}

fn assert_keeps_contract(place: &str, input: &Value, parameters: &Value) {
    let input = input.as_object().unwrap_or_else(|| panic!("{place}: not an object"));
    for key in parameters["required"].as_array().unwrap() {
        assert!(input.contains_key(key.as_str().unwrap()), "{place}: {key} is missing");
    }
    for (key, value) in input {
        let rule = parameters["properties"].get(key).unwrap_or_else(|| panic!("{place}: unknown key {key}"));
        let fits = match value {
            Value::String(text) => {
                rule["type"] == "string" && text.chars().count() as u64 <= rule["maxLength"].as_u64().unwrap()
            }
            Value::Number(number) => rule["type"] == "integer" && number.is_i64(),
            Value::Bool(_) => rule["type"] == "boolean",
            _ => false,
        };
        assert!(fits, "{place}: {key} does not keep the contract");
        if let Some(allowed) = rule.get("enum") {
            assert!(allowed.as_array().unwrap().contains(value), "{place}: {key} is none of {allowed}");
        }
    }
}

/// Checks one `NAME.input.json` and tells which script it is for.
fn script_of_example(skill: &Path, scripts: &Map<String, Value>, example: &str, answered: bool) -> String {
    let place = format!("{}/examples/{example}", skill.display());
    let stem = example.split('.').next().unwrap();
    let script = scripts.keys().find(|key| key.split('.').next() == Some(stem));
    let script = script.unwrap_or_else(|| panic!("{place} belongs to no script"));
    let input = skill.join(format!("examples/{example}.input.json"));
    assert!(fs::metadata(&input).unwrap().len() <= INPUT_BYTES, "{place} is over 4 KiB");
    assert_keeps_contract(&place, &json(&input), &scripts[script]["parameters"]);
    let answer = skill.join(format!("examples/{example}.output.json"));
    assert_eq!(answer.exists(), answered, "{place}: expected answer");
    assert!(!answered || json(&answer).is_object(), "{place}");
    script.clone()
}

#[test]
fn every_script_has_an_example_that_keeps_its_contract_and_an_expected_answer() {
    for (name, runtime) in SHIPPED.iter().filter(|(_, runtime)| *runtime != "prompt-only") {
        let (skill, mut seen) = (skills().join(name), Vec::new());
        let scripts = scripts_of(&skill);
        // There is no engine here that could say what a bring-your-own image answers.
        let answered = *runtime != "cubesandbox";
        for file in names(&skill.join("examples")) {
            if let Some(example) = file.strip_suffix(".input.json") {
                seen.push(script_of_example(&skill, &scripts, example, answered));
            } else {
                let example = file.strip_suffix(".output.json").unwrap_or_else(|| panic!("{name}: {file}"));
                assert!(
                    skill.join(format!("examples/{example}.input.json")).exists(),
                    "{name}: {file} alone"
                );
            }
        }
        for script in scripts.keys() {
            assert!(seen.contains(script), "{name}: {script} has no example");
        }
    }
}

#[test]
fn a_skill_that_needs_a_set_says_the_command_that_builds_it() {
    const COMMAND: &str = "skilljail runtime build --requirements data --out DIR";
    let mut needing = Vec::new();
    for (name, _) in SHIPPED {
        let skill = skills().join(name);
        let scripts = skill.join("scripts");
        let files = if scripts.exists() { names(&scripts) } else { Vec::new() };
        let needs = files.iter().any(|file| {
            let text = fs::read_to_string(scripts.join(file)).unwrap();
            ["import numpy", "import pandas", "import matplotlib"].iter().any(|import| text.contains(import))
        });
        let fields = frontmatter(&skill);
        let compatibility = fields.iter().find(|(key, _)| key == "compatibility");
        assert_eq!(compatibility.is_some_and(|(_, text)| text.contains(COMMAND)), needs, "{name}");
        if needs {
            let text = fs::read_to_string(skill.join("SKILL.md")).unwrap();
            assert!(text.contains(&format!("  build: {COMMAND}\n")), "{name}: metadata");
            needing.push(name);
        }
    }
    assert_eq!(needing, ["plot-png", "table-stats"]);
}
