//! What cost depends on: files of a skill, size of policy, input and output, how many at once, how many before.

use super::cases::exec_words;
use super::measure::{Case, in_turn, throughput};
use super::place::{ECHO, Place, checkout};
use super::table::Table;
use std::path::Path;

fn run(place: &Place, name: &str, skill: &Path, more: &[&str]) -> Case {
    let path = |path: &Path| path.to_str().expect("text").to_owned();
    let mut words =
        vec![path(&place.program), "run".to_owned(), "--runtime".to_owned(), path(&place.runtime)];
    words.extend(more.iter().map(|word| (*word).to_owned()));
    words.extend([path(skill), "main.py".to_owned()]);
    Case::new(name, words)
}

pub(crate) fn measure(place: &Place, rounds: usize, table: &mut Table) {
    let empty = place.file("empty.json", "{}");
    let mut cases = Vec::new();
    for count in [3usize, 100, 1_000] {
        let files: Vec<(String, String)> =
            (3..count).map(|n| (format!("references/{n}.txt"), "x".repeat(1_000))).collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let skill = place.skill(&format!("files-{count}"), ECHO, &files);
        cases.push(run(place, &format!("files: {count}"), &skill, &[]).stdin(&empty));
    }
    for bytes in [10usize, 2_000, 4_000] {
        let input =
            place.file(&format!("in-{bytes}.json"), format!(r#"{{"text": "{}"}}"#, "x".repeat(bytes - 2)));
        cases.push(run(place, &format!("input: {bytes} bytes"), &place.at("echo"), &[]).stdin(&input));
    }
    for bytes in [0, 10_000, 60_000] {
        let skill = place.skill(
            &format!("out-{bytes}"),
            &format!("import sys\nsys.stdin.read()\nsys.stdout.write('x' * {bytes})\n"),
            &[],
        );
        cases.push(run(place, &format!("output: {bytes} bytes"), &skill, &[]).stdin(&empty));
    }
    let shipped = std::fs::read_to_string(checkout().join("policies/default.json")).expect("it is shipped");
    for variables in [0usize, 100] {
        let mut policy: serde_json::Value = serde_json::from_str(&shipped).expect("JSON");
        policy["guarantees"] = serde_json::json!([]);
        let list: Vec<_> = (0..variables)
            .map(|n| serde_json::json!({ "name": format!("SETTING_{n}"), "value": "x", "reason": "a large policy" }))
            .collect();
        if variables > 0
            && let Some(own) = policy["environment"].as_array_mut()
        {
            own.extend(list);
        }
        let path = place.file(&format!("policy-{variables}.json"), policy.to_string());
        let path = path.to_str().expect("text").to_owned();
        cases.push(
            run(
                place,
                &format!("policy file with {variables} more variables"),
                &place.at("echo"),
                &["--policy", &path],
            )
            .stdin(&empty),
        );
    }
    cases.retain(|case| match case.works() {
        Ok(()) => true,
        Err(why) => {
            table.skip("growth", &case.name, &why);
            false
        }
    });
    let times = in_turn(&cases, (rounds / 4).max(10));
    for (case, times) in cases.iter().zip(&times) {
        table.row("growth", &case.name, "us", times.p50(), Some(times.p95()));
    }
    let exec = [Case::new("skilljail", exec_words(place, &[]))];
    for width in [1, 2, 8, 64] {
        let rate = throughput(&exec, width, 5, 128)[0];
        table.row("growth", &format!("exec of /bin/true, {width} at once"), "runs/s", rate, None);
    }
    later(place, table);
}

/// The ten thousandth run beside the first: `BENCH_LATER=10000`, or a thousand.
fn later(place: &Place, table: &mut Table) {
    let runs: usize = std::env::var("BENCH_LATER").ok().and_then(|word| word.parse().ok()).unwrap_or(1_000);
    let case = [Case::new("skilljail", exec_words(place, &[]))];
    let block = runs / 10;
    let blocks: Vec<f64> = (0..10).map(|_| in_turn(&case, block)[0].p50()).collect();
    table.row("growth", &format!("runs 1 to {block}"), "us", blocks[0], None);
    table.row("growth", &format!("runs {} to {runs}", runs - block + 1), "us", blocks[9], None);
    table.ratio(&format!("growth: last tenth of {runs} runs / first"), blocks[9] / blocks[0], 1.05, true);
}
