//! From the last byte of the input to the first byte of the result, of jails that were started ahead.

use super::measure::Times;
use super::place::{Place, checkout};
use super::table::Table;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

struct Skill<'a> {
    name: &'a str,
    runtime: &'a Path,
    folder: std::path::PathBuf,
    script: &'a str,
    input: Vec<u8>,
    rounds: usize,
    wanted: f64,
}

pub(crate) fn measure(place: &Place, rounds: usize, table: &mut Table) {
    let echo = Skill {
        name: "echo",
        runtime: &place.runtime,
        folder: place.at("echo"),
        script: "main.py",
        input: br#"{"text": "hello"}"#.to_vec(),
        rounds: rounds.min(100),
        wanted: 0.05,
    };
    compare(place, &echo, table);
    match &place.data {
        Some(runtime) => {
            let folder = checkout().join("skills/table-stats");
            let input = std::fs::read(folder.join("examples/describe.input.json")).expect("an example");
            let stats = Skill {
                name: "table-stats",
                runtime,
                folder,
                script: "describe.py",
                input,
                rounds: (rounds / 5).clamp(10, 30),
                wanted: 0.03,
            };
            compare(place, &stats, table);
        }
        None => table.skip("warm", "table-stats", "no runtime with numpy and pandas"),
    }
}

fn compare(place: &Place, skill: &Skill<'_>, table: &mut Table) {
    let (mut cold, mut warm, mut kib) = (Vec::new(), Vec::new(), 0);
    for _ in 0..skill.rounds {
        let Some(took) = once(place, skill, false).map(|(took, _)| took) else {
            return table.skip("warm", skill.name, "the skill does not run here");
        };
        cold.push(took);
        let Some((took, idle)) = once(place, skill, true) else {
            return table.skip("warm", skill.name, "it does not become ready");
        };
        warm.push(took);
        kib = idle;
    }
    let (cold, warm) = (Times::new(cold), Times::new(warm));
    table.row("warm", &format!("{}: cold, start to result", skill.name), "us", cold.p50(), Some(cold.p95()));
    table.row("warm", &format!("{}: warm, input to result", skill.name), "us", warm.p50(), Some(warm.p95()));
    #[expect(clippy::cast_precision_loss, reason = "a few MiB")]
    table.row("warm", &format!("{}: idle memory of the script (PSS)", skill.name), "KiB", kib as f64, None);
    table.ratio(
        &format!("warm: {}, p50 / the cold run's", skill.name),
        warm.p50() / cold.p50(),
        skill.wanted,
        true,
    );
}

/// One run to the first byte of its result.
fn once(place: &Place, skill: &Skill<'_>, warm: bool) -> Option<(Duration, u64)> {
    let fifo = place.at("report");
    let mut command = Command::new(&place.program);
    command.args(["run", "--runtime"]).arg(skill.runtime).arg(&skill.folder).arg(skill.script);
    let mut idle = 0;
    let mut reader = None;
    if warm {
        let _ = std::fs::remove_file(&fifo);
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).ok()?;
        command.args(["--warm", "--stream"]).arg("--report").arg(&fifo);
        // Opened for both, so that nobody waits for the other.
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&fifo).ok()?;
        reader = Some(BufReader::new(file));
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).env_clear();
    let mut start = Instant::now();
    let mut child = command.spawn().ok()?;
    if let Some(reader) = &mut reader {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line: serde_json::Value = serde_json::from_str(&line).ok()?;
        line["ready"].as_bool()?;
        idle = line["idle_kib"].as_u64().unwrap_or(0);
        start = Instant::now();
    }
    let mut stdin = child.stdin.take()?;
    stdin.write_all(&skill.input).ok()?;
    drop(stdin);
    let mut stdout = child.stdout.take()?;
    let mut byte = [0];
    stdout.read_exact(&mut byte).ok()?;
    let took = start.elapsed();
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).ok()?;
    child.wait().ok()?.success().then_some((took, idle))
}
