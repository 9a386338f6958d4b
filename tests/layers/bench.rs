//! One forbidden thing, tried three times: in the whole jail, with one layer alone, without any.
#![allow(unreachable_pub, reason = "a test module")]

use crate::support::{Skill, feed, runtime};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program under test.
pub const LAB: &str = env!("CARGO_BIN_EXE_skilljail-lab");

const PROBE: &str = include_str!("probe.py");

/// How a thing is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// The call fails with this.
    Errno(&'static str),
    /// The program dies of this.
    Signal(i32),
    /// The call says that all is well, and nothing happens.
    Nothing,
    /// The answer is the jail's own.
    Says(&'static str),
}

/// What came of a try.
#[derive(Debug)]
pub struct Ran {
    /// The laboratory's document.
    pub document: Value,
    /// The file of the host's, afterwards.
    pub file: String,
}

/// The text of the host's file.
pub fn canary_file(ran: &Ran) -> &str {
    &ran.file
}

/// What the script printed.
pub fn said(ran: &Ran) -> &str {
    ran.document["stdout"]["text"].as_str().unwrap_or_default()
}

fn answer(ran: &Ran) -> Value {
    serde_json::from_str(said(ran)).unwrap_or_default()
}

/// What the probe did.
pub fn did(ran: &Ran) -> Value {
    answer(ran)["did"].clone()
}

type Reason = fn(&Ran) -> Option<&'static str>;

/// A thing.
pub struct Case {
    layer: &'static str,
    name: &'static str,
    thing: &'static str,
    stands: Vec<&'static str>,
    still: Vec<&'static str>,
    full: Want,
    alone: Want,
    abi: u64,
    needs: Option<Reason>,
}

impl Case {
    /// A Python expression that is refused by `layer`.
    pub fn new(layer: &'static str, name: &'static str, thing: &'static str) -> Self {
        Self {
            layer,
            name,
            thing,
            stands: vec![layer],
            still: Vec::new(),
            full: Want::Nothing,
            alone: Want::Nothing,
            abi: 0,
            needs: None,
        }
    }

    /// Only these parts of the layer stand when it is alone.
    pub fn stands(mut self, walls: &[&'static str]) -> Self {
        self.stands = walls.to_vec();
        self
    }

    /// These stay up to the end: without them the thing would have another meaning.
    pub fn still(mut self, walls: &[&'static str]) -> Self {
        self.still = walls.to_vec();
        self
    }

    /// How the whole jail refuses it.
    pub fn full(mut self, want: Want) -> Self {
        self.full = want;
        self
    }

    /// How the layer alone does.
    pub fn alone(mut self, want: Want) -> Self {
        self.alone = want;
        self
    }

    /// A reason, seen in the whole jail, why this host cannot show it.
    pub fn needs(mut self, reason: Reason) -> Self {
        self.needs = Some(reason);
        self
    }

    /// Which Landlock ABI it takes.
    pub fn landlock(mut self, abi: u64) -> Self {
        self.abi = abi;
        self
    }

    /// Tries it three times; `effect` sees whether it worked.
    pub fn works(self, effect: fn(&Ran) -> bool) {
        let name = format!("{}: {}", self.layer, self.name);
        let full = self.run(&[]);
        let abi = full.document["layers"][6]["details"]["abi"].as_u64().expect("Landlock is in the document");
        if abi < self.abi {
            eprintln!("SKIP: {name}: Landlock ABI {abi} of this kernel is below {}", self.abi);
            return;
        }
        if let Some(reason) = self.needs.and_then(|reason| reason(&full)) {
            eprintln!("SKIP: {name}: {reason}");
            return;
        }
        refused(&format!("{name}: in the whole jail"), &full, self.full, effect);
        assert_eq!(full.document["left_out"], serde_json::json!([]), "{name}");

        let stands = [&self.stands[..], &self.still[..]].concat();
        let alone = self.run(&["--only", &stands.join(",")]);
        refused(&format!("{name}: {} alone", stands.join(" and ")), &alone, self.alone, effect);

        let gone = if self.still.is_empty() {
            self.run(&["--without", "all"])
        } else {
            self.run(&["--only", &self.still.join(",")])
        };
        assert!(effect(&gone), "{name}: without the layer it does not work, so nothing was shown: {gone:#?}");
    }

    fn run(&self, words: &[&str]) -> Ran {
        let place = tempfile::tempdir().expect("a temporary directory can be made");
        let canary = place.path().join("canary");
        let file = host_file(&canary);
        let script = PROBE.replace("THING", &format!("{:?}", self.thing));
        let skill = Skill::new(&script);
        // What a careless caller leaves behind: descriptors 7 and 8, and an ignored signal.
        let mut command = Command::new("sh");
        let careless = r#"trap "" USR1; exec 7<"$0" 8<"$1"; shift; exec "$@""#;
        command.args(["-c", careless]).arg(&file).arg(&canary);
        command.args([LAB, "control", "--canary"]).arg(&canary).args(words);
        command.args(["run", "--runtime"]).arg(runtime()).arg(skill.path()).arg("main.py");
        let output = feed(command, b"{}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let document = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("no document ({error}): {stderr}"));
        let document: Value = document;
        assert_eq!(document["laboratory"], true);
        assert_ne!(document["status"], "setup_failed", "{}: {words:?}: {}", self.name, document["error"]);
        Ran { document, file: fs::read_to_string(file).expect("it can be read") }
    }
}

/// A file that everybody may write: what keeps a jail from it must be a wall of the jail.
fn host_file(canary: &Path) -> PathBuf {
    let file = canary.join("file");
    fs::create_dir(canary).expect("a directory can be made");
    fs::write(&file, "untouched").expect("a file can be written");
    for (path, mode) in [(canary, 0o777), (&file, 0o666)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }
    file
}

fn refused(what: &str, ran: &Ran, want: Want, effect: fn(&Ran) -> bool) {
    let answer = answer(ran);
    match want {
        Want::Errno(errno) => assert_eq!(answer["refused"], errno, "{what}: {ran:#?}"),
        Want::Signal(signal) => assert_eq!(ran.document["signal"], signal, "{what}: {ran:#?}"),
        Want::Nothing => assert!(answer.get("did").is_some(), "{what}: {ran:#?}"),
        Want::Says(text) => assert_eq!(answer["did"], text, "{what}: {ran:#?}"),
    }
    assert!(!effect(ran), "{what}: it worked: {ran:#?}");
    // Whatever was refused also left the rest of the outside alone.
    assert_eq!(ran.file, "untouched", "{what}");
    assert_eq!(ran.document["untouched"], true, "{what}: {ran:#?}");
}
