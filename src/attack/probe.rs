//! Legitimate probes: what honest skills do. A jail that refuses everything contains every attack, and is none.

use super::Probed;
use super::case::PROBES;
use super::engine::Engine;
use super::stage::{SCRIPT, Variables, write_skill};
use serde_json::Value;
use std::io;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What a probe prints last.
const WORKS: &str = "works";

/// Every probe: its name and its script.
pub fn all() -> Vec<(&'static str, &'static str)> {
    PROBES.to_vec()
}

/// Runs one.
pub fn run(engine: &Engine, name: &'static str, script: &'static str) -> Probed {
    let started = Instant::now();
    let failure = tried(engine, script).unwrap_or_else(|error| Some(format!("the harness: {error}")));
    Probed { name, does: does(script), failure, took: started.elapsed() }
}

/// The first line of the script is a docstring.
fn does(script: &str) -> String {
    script.lines().next().unwrap_or_default().trim_matches('"').trim_end_matches('.').to_owned()
}

fn tried(engine: &Engine, script: &str) -> io::Result<Option<String>> {
    let place = tempfile::Builder::new().prefix(&super::residue::mark()).tempdir()?;
    let folder = place.path().join("attack");
    write_skill(&folder, script, &Variables::new(), engine.network)?;
    let mut command = Command::new(&engine.program);
    command.args(["run", "--json", "--policy", &engine.policy]);
    if let Some(runtime) = &engine.runtime {
        command.arg("--runtime").arg(runtime);
    }
    std::fs::write(place.path().join("input"), "{}")?;
    command.arg("--input").arg(place.path().join("input")).arg(&folder).arg(SCRIPT);
    let output = command.stdin(Stdio::null()).output()?;
    let Ok(document) = serde_json::from_slice::<Value>(&output.stdout) else {
        return Ok(Some(format!("no document: {}", String::from_utf8_lossy(&output.stderr))));
    };
    let said = document["stdout"]["text"].as_str().unwrap_or_default();
    if document["status"] == "ok" && said.lines().last() == Some(WORKS) {
        return Ok(None);
    }
    let stderr = document["stderr"]["text"].as_str().unwrap_or_default();
    let last = stderr.trim_end().lines().last().unwrap_or_default();
    Ok(Some(format!("{}: {last}", document["status"].as_str().unwrap_or_default())))
}
