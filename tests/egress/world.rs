//! The world of the tests: made once, gone with the test process.

use super::support::{Ran, Run, Skill, checkout, own_runtime};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The two namespaces and their servers.
pub struct World {
    // Its stdin ends with this process, and so does it.
    _holder: Child,
    host: String,
    // Where canaries are counted.
    canaries: PathBuf,
    _dir: tempfile::TempDir,
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// The world.
pub fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let canaries = dir.path().join("canaries");
        fs::write(&canaries, "").unwrap();
        let here = checkout().join("tests/egress");
        let mut command = Command::new("unshare");
        // An ordinary user needs a user namespace to have network namespaces in; root has its range of outer ids only outside.
        if !is_root() {
            command.args(["--user", "--map-current-user", "--keep-caps"]);
        }
        command.args(["--net", "sh"]).arg(here.join("world.sh")).arg(here).env("CANARIES", &canaries);
        let mut holder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let host = line.split_whitespace().nth(1).expect("the world says that it is ready").to_owned();
        World { _holder: holder, host, canaries, _dir: dir }
    })
}

impl World {
    /// The words that let a command run on the world's host.
    pub fn inside(&self) -> Vec<&str> {
        let mut words = vec!["nsenter", "--target", &self.host, "--net"];
        if !is_root() {
            words.extend(["--user", "--preserve-credentials"]);
        }
        words
    }

    /// How often something came where nothing must come, by name.
    pub fn canaries(&self, what: &str) -> usize {
        self.said(what).len()
    }

    /// Each of them.
    pub fn said(&self, what: &str) -> Vec<String> {
        let text = fs::read_to_string(&self.canaries).unwrap();
        text.lines().filter(|line| line.contains(what)).map(str::to_owned).collect()
    }

    /// A Python script on the world's host, outside of any jail: the control.
    pub fn outside(&self, script: &str) -> Output {
        let words = self.inside();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(["/usr/bin/python3", "-c", script]);
        command.output().unwrap()
    }
}

/// Held by each test that counts canaries, so that no other one's control is taken for an escape.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The policy `egress` with `*.example.org`, the world's resolver and its certificates, changed.
pub fn policy(change: impl FnOnce(&mut Value)) -> tempfile::NamedTempFile {
    let text = fs::read_to_string(checkout().join("policies/egress.json")).unwrap();
    let mut policy: Value = serde_json::from_str(&text).unwrap();
    let ports = [80, 443, 8080, 8081, 8082, 8083, 8084, 8085, 8086, 8087];
    policy["name"] = "trial".into();
    policy["egress"]["allow"] =
        json!([{"name": "*.example.org", "ports": ports, "reason": "for this trial"}]);
    policy["egress"]["dns"]["servers"] = json!(["9.9.9.9"]);
    policy["egress"]["ca_bundle"] = checkout().join("tests/egress/tls/ca.pem").display().to_string().into();
    change(&mut policy);
    let mut file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    file.write_all(policy.to_string().as_bytes()).unwrap();
    file
}

/// A skill that asks for the network.
pub fn skill(script: &str) -> Skill {
    let skill = Skill::new(script);
    let path = skill.path().join("xray.json");
    let mut xray: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    xray["network"] = "egress".into();
    skill.write("xray.json", &xray.to_string());
    skill
}

/// A run of it on the world's host, ready to go.
pub fn run_of(skill: &Skill, policy: &tempfile::NamedTempFile) -> Run {
    let run = Run::with_runtime(own_runtime(), &skill.path(), "main.py");
    run.args(["--policy", policy.path().to_str().unwrap()]).inside(&world().inside())
}

/// Runs a script with the network.
pub fn run(script: &str, policy: &tempfile::NamedTempFile) -> Ran {
    run_of(&skill(script), policy).go()
}

/// The entries of a run that meet all of these: keys and values.
pub fn entries<'a>(ran: &'a Ran, wanted: &[(&str, Value)]) -> Vec<&'a Value> {
    let list = ran.report["egress"].as_array().unwrap();
    list.iter().filter(|entry| wanted.iter().all(|(key, value)| entry[*key] == *value)).collect()
}
