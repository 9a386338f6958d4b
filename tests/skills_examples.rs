//! What the shipped skills do, in the jail: each example, the artifacts, and the exact refusal of what does not run.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "skills/examples.rs"]
mod examples;
mod support;

use examples::{assert_all, assert_answered, prepare, skill};
use serde_json::json;
use std::fs;
use std::process::Command;
use support::{Run, runtime};

#[test]
fn word_count_answers_its_examples() {
    assert_all(runtime(), "word-count");
}

#[test]
fn csv_aggregator_answers_its_examples() {
    assert_all(runtime(), "csv-aggregator");
}

#[test]
fn json_diff_answers_its_examples() {
    assert_all(runtime(), "json-diff");
}

#[test]
fn date_calc_answers_its_examples() {
    assert_all(runtime(), "date-calc");
    // The one script without a variant of its own in the list of examples is a module of the others.
    assert!(skill("date-calc").join("scripts/moments.py").is_file());
}

#[test]
fn sqlite_query_answers_its_examples() {
    assert_all(runtime(), "sqlite-query");
}

#[test]
fn every_runnable_skill_is_among_these_or_needs_a_set() {
    let tested = ["word-count", "csv-aggregator", "json-diff", "date-calc", "sqlite-query"];
    for entry in fs::read_dir(support::checkout().join("skills")).expect("skills") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        let text = fs::read_to_string(skill(&name).join("SKILL.md")).expect("SKILL.md");
        let runs = text.contains("\nruntime: cubesandbox::python\n");
        let needs_set = text.contains("\n  requirements: ");
        // Those that fetch run in a world of their own: tests/egress/fetch.rs.
        let xray = fs::read_to_string(skill(&name).join("xray.json")).unwrap_or_default();
        let fetches = xray.contains("\"network\": \"egress\"");
        assert_eq!(tested.contains(&name.as_str()), runs && !needs_set && !fetches, "{name}");
    }
}

#[test]
fn the_report_of_csv_aggregator_is_collected() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let out = folder.path().join("report");
    let run = prepare(runtime(), "csv-aggregator", "aggregate").args(["--out".as_ref(), out.as_os_str()]);
    let ran = run.go();
    assert_answered("csv-aggregator", "aggregate", &ran);
    let report = fs::read_to_string(out.join("report.md")).expect("the artifact");
    for cell in ["North", "South", "1200", "0.3"] {
        assert!(report.contains(cell), "{cell}: {report}");
    }
    let artifacts = ran.report["artifacts"].as_array().expect("artifacts");
    assert_eq!(artifacts.len(), 1, "{artifacts:?}");
    assert_eq!(
        (&artifacts[0]["path"], &artifacts[0]["saved_as"], &artifacts[0]["bytes"], &artifacts[0]["refused"]),
        (&json!("report.md"), &json!("report.md"), &json!(report.len()), &json!(null))
    );
}

/// The same words in the document and, without `--json`, on stderr; nothing on stdout.
fn assert_refused(name: &str, script: &str, input: &[u8], (code, status): (i32, &str), told: &str) {
    let ran = Run::new(&skill(name), script).input(input).go();
    assert_eq!((ran.code, ran.status(), ran.stdout()), (code, status, ""), "{ran:#?}");
    let error = &ran.report["error"];
    let text = |key: &str| error[key].as_str().expect("an error has a cause and a hint").to_owned();
    assert_eq!(format!("skilljail: {}\nhint: {}\n", text("cause"), text("hint")), told);
    let mut command = Command::new(support::SKILLJAIL);
    command.args(["run", "--runtime"]).arg(runtime()).arg(skill(name)).arg(script);
    let output = support::feed(command, input);
    assert_eq!(output.status.code(), Some(code));
    assert_eq!(
        (String::from_utf8_lossy(&output.stderr).as_ref(), output.stdout.as_slice()),
        (told, b"".as_slice())
    );
}

#[test]
fn a_prompt_only_skill_is_refused_in_these_words() {
    assert_refused(
        "deploy-helper",
        "any.py",
        b"{}",
        (121, "skill_rejected"),
        "skilljail: skill deploy-helper has runtime prompt-only: no scripts to run\n\
         hint: a prompt-only skill is read, not run: skilljail read\n",
    );
}

#[test]
fn a_bring_your_own_skill_is_refused_in_these_words() {
    assert_refused(
        "video-thumbnail",
        "thumbnail.sh",
        b"{}",
        (121, "skill_rejected"),
        "skilljail: skill video-thumbnail has runtime cubesandbox: engine unavailable\n\
         hint: it brings its own image; runtimes that run here: cubesandbox::python, e2b::python\n",
    );
}

#[test]
fn a_skill_that_needs_a_set_is_refused_by_the_plain_runtime_with_the_command_that_builds_it() {
    let tree = runtime().display();
    let told = format!(
        "skilljail: {tree}: the packages of set `data` are not all in this runtime (missing: contourpy, cycler, \
         fonttools, kiwisolver, matplotlib, numpy, packaging, pandas, pillow, pyparsing, python-dateutil, tzdata)\n\
         hint: skilljail runtime build --requirements data --out {tree}-data, then run with --runtime {tree}-data\n"
    );
    for (name, stem) in [("table-stats", "describe"), ("plot-png", "plot")] {
        let input = fs::read(skill(name).join(format!("examples/{stem}.input.json"))).expect("the input");
        assert_refused(name, &format!("{stem}.py"), &input, (125, "setup_failed"), &told);
    }
}
