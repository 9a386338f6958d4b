//! One test module run, inside the jail or outside of it.

use crate::stage::{PYTHON, stage};
use crate::support;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// What a module's tests came to.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// The ids of all that ran.
    pub(crate) ran: BTreeSet<String>,
    /// Those that did not pass: how and why.
    pub(crate) notes: BTreeMap<String, (String, String)>,
    /// The names of the calls that were denied.
    pub(crate) denied: BTreeSet<String>,
    wanted: Vec<String>,
}

impl Outcome {
    fn read(folder: &Path) -> Self {
        let text = fs::read(folder.join("result.json")).expect("the run wrote its result");
        let value: Value = serde_json::from_slice(&text).expect("it is JSON");
        let strings =
            |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).expect("strings") };
        Self {
            ran: strings(&value["ran"]).into_iter().collect(),
            notes: serde_json::from_value(value["notes"].clone()).expect("notes"),
            denied: BTreeSet::new(),
            wanted: strings(&value["wanted"]),
        }
    }

    fn that_want_an_interpreter(&self) -> Vec<&String> {
        self.notes.iter().filter(|(_, (kind, _))| kind == "elsewhere").map(|(id, _)| id).collect()
    }
}

/// The control: the same interpreter and flags, no jail.
pub(crate) fn outside(module: &str) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let scripts = stage().skill.path().join("scripts");
    let start = "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); \
        runpy.run_path(sys.path[0] + '/run_module.py', run_name='__main__')";
    let mut command = Command::new(PYTHON);
    command.args(["-I", "-B", "-c", start]).arg(&scripts).arg(folder.path()).arg(folder.path());
    command.current_dir(folder.path()).env_clear();
    for (name, value) in [("LANG", "C.UTF-8"), ("TZ", "UTC"), ("PATH", "")] {
        command.env(name, value);
    }
    command.env("HOME", folder.path()).env("TMPDIR", folder.path());
    let output = support::feed(command, json!({"module": module}).to_string().as_bytes());
    assert!(output.status.success(), "{module} outside: {}", String::from_utf8_lossy(&output.stderr));
    Outcome::read(folder.path())
}

/// In the jail. A test that wants a fresh interpreter is answered by one in a jail of its own, and runs again.
pub(crate) fn inside(module: &str, only: &[&String]) -> Outcome {
    let mut answers = BTreeMap::new();
    let mut outcome = once(module, only, &answers);
    // A test may ask again where it goes on after the first answer.
    for _ in 0..3 {
        let fresh: Vec<_> =
            outcome.wanted.iter().filter(|code| !answers.contains_key(*code)).cloned().collect();
        if fresh.is_empty() {
            break;
        }
        for code in fresh {
            let (answer, denied) = answer(&code);
            outcome.denied.extend(denied);
            answers.insert(code, answer);
        }
        let again: Vec<String> = outcome.that_want_an_interpreter().into_iter().cloned().collect();
        let second = once(module, &again.iter().collect::<Vec<_>>(), &answers);
        again.iter().for_each(|id| drop(outcome.notes.remove(id)));
        outcome.notes.extend(second.notes);
        outcome.denied.extend(second.denied);
        outcome.wanted = second.wanted;
    }
    outcome
}

fn run(script: &str) -> support::Run {
    let stage = stage();
    support::Run::with_runtime(&stage.runtime, &stage.skill.path(), script)
        .args(["--policy".as_ref(), stage.policy.as_os_str()])
        .args(["--timeout", "600s"])
}

fn once(module: &str, only: &[&String], answers: &BTreeMap<String, Value>) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (answers_file, only_file) = (folder.path().join("answers"), folder.path().join("only"));
    fs::write(&answers_file, json!(answers).to_string()).expect("a file can be written");
    fs::write(&only_file, json!(only).to_string()).expect("a file can be written");
    let out = folder.path().join("out");
    let ran = run("run_module.py")
        .args(["--in".to_owned(), format!("answers.json={}", answers_file.display())])
        .args(["--in".to_owned(), format!("only.json={}", only_file.display())])
        .args(["--out".as_ref(), out.as_os_str()])
        .input(json!({"module": module}).to_string())
        .go();
    assert_eq!(ran.status(), "ok", "{module}: {:#}\n{}", ran.report["error"], ran.script_stderr());
    let mut outcome = Outcome::read(&out);
    outcome.denied = denied(&ran);
    outcome
}

/// What `python -c CODE` answers in a jail of its own: exit code, stdout, stderr; and what was denied to it.
fn answer(code: &str) -> (Value, BTreeSet<String>) {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(file.path(), code).expect("a file can be written");
    let ran = run("run_code.py").args(["--in".to_owned(), format!("code={}", file.path().display())]).go();
    let code = match ran.report["signal"].as_i64() {
        Some(signal) => -signal,
        None => ran.report["exit_code"].as_i64().expect("it ended by itself"),
    };
    (json!([code, ran.stdout(), ran.script_stderr()]), denied(&ran))
}

fn denied(ran: &support::Ran) -> BTreeSet<String> {
    let denials = ran.report["denials"].as_array().expect("a document has denials");
    denials.iter().filter_map(|denial| Some(denial["syscall"].as_str()?.to_owned())).collect()
}
