//! SARIF, judged by the standard's own schema.

use super::package::{Package, skilljail, stdout};
use super::schema;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn schema_file() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sarif/sarif-schema-2.1.0.json")
}

fn schema() -> Value {
    serde_json::from_slice(&std::fs::read(schema_file()).unwrap()).unwrap()
}

/// A log with findings of all shapes: with and without lines and columns, errors and warnings, odd names.
fn text() -> (Package, String) {
    let package = Package::python()
        .front("license: on\nextra: x")
        .file("scripts/ü b#.py", "eval('1')\nimport subprocess\n")
        .file(".e2b.dockerfile", "")
        .remove("xray.json");
    let text = stdout(&skilljail(&["check", package.root.to_str().unwrap(), "--format", "sarif"]));
    (package, text)
}

#[test]
fn the_log_is_valid() {
    let (package, text) = text();
    let log: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(schema::check(&schema(), &log), Vec::<String>::new());
    let results = log["runs"][0]["results"].as_array().unwrap();
    let rules: Vec<&str> = results.iter().map(|result| result["ruleId"].as_str().unwrap()).collect();
    assert_eq!(rules, ["SJ-K050", "SJ-K012", "SJ-K021", "SJ-K105", "SJ-K102", "SJ-K060"]);
    let all = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(all[index]["id"], result["ruleId"]);
    }
    let uri = results[3]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
    assert_eq!(uri, format!("file://{}/scripts/%C3%BC%20b%23.py", package.root.display()));
    assert_eq!(results[3]["locations"][0]["physicalLocation"]["region"]["startColumn"], 1);
}

#[test]
fn the_validator_finds_faults() {
    let log: Value = serde_json::from_str(&text().1).unwrap();
    let broken: [(&str, Value); 6] = [
        ("/version", "2.0.0".into()),
        ("/runs/0/results/0/level", "bad".into()),
        ("/runs/0/results/0/ruleIndex", (-2).into()),
        ("/runs/0/tool/driver/name", Value::Null),
        ("/runs/0/results/0/locations/0/physicalLocation/region", serde_json::json!({"startLine": 0})),
        ("/runs/0/columnKind", "bytes".into()),
    ];
    for (pointer, value) in broken {
        let mut log = log.clone();
        match log.pointer_mut(pointer) {
            Some(place) => *place = value,
            None => {
                let (parent, name) = pointer.rsplit_once('/').unwrap();
                log.pointer_mut(parent).unwrap()[name] = value;
            }
        }
        assert!(!schema::check(&schema(), &log).is_empty(), "{pointer}");
    }
    let mut unknown = log;
    unknown["runs"][0]["more"] = 1.into();
    assert!(!schema::check(&schema(), &unknown).is_empty());
}

/// The same by somebody else's validator. Needs a Python with venv, and PyPI.
#[test]
#[cfg_attr(not(feature = "registry"), ignore = "installs jsonschema from PyPI: make test-data")]
fn pythons_jsonschema_agrees() {
    let dir = tempfile::tempdir().unwrap();
    let python = super::standard::venv(dir.path(), &["jsonschema==4.23.0"]);
    let log = dir.path().join("log.sarif");
    std::fs::write(&log, text().1).unwrap();
    let program = "import json,sys,jsonschema\n\
                   schema, log = (json.load(open(p, encoding='utf-8')) for p in sys.argv[1:])\n\
                   jsonschema.Draft7Validator.check_schema(schema)\n\
                   jsonschema.Draft7Validator(schema).validate(log)\n\
                   log['version'] = '3'\n\
                   assert list(jsonschema.Draft7Validator(schema).iter_errors(log))\n";
    let output = Command::new(python).args(["-c", program]).arg(schema_file()).arg(log).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
