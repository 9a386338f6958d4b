//! Policies written for one test, and the program run on them.

use super::support::{SKILLJAIL, checkout};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// A policy file in a directory of its own, with a filter file beside it where one is needed.
pub struct Trial {
    dir: tempfile::TempDir,
    policy: Value,
    filter: Option<Value>,
    file: &'static str,
}

impl Trial {
    /// The shipped default, as a file of another name.
    pub fn new() -> Self {
        Self::of("default")
    }

    /// The same of another shipped one.
    pub fn of(name: &str) -> Self {
        let mut policy = json(&format!("policies/{name}.json"));
        policy["name"] = "trial".into();
        Self { dir: tempfile::tempdir().unwrap(), policy, filter: None, file: "trial.json" }
    }

    /// Sets a value of the policy, by JSON pointer; the last key may be new. A changed limit gets a reason of its own.
    pub fn set(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        put(&mut self.policy, pointer, value.into());
        if pointer.starts_with("/limits/") && pointer.split('/').count() == 4 && !pointer.ends_with("/reason")
        {
            let reason = format!("{}/reason", &pointer[..pointer.rfind('/').unwrap()]);
            put(&mut self.policy, &reason, "Another number, for this trial alone.".into());
        }
        self
    }

    /// Changes the policy.
    pub fn edit(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(&mut self.policy);
        self
    }

    /// The filter becomes a file beside the policy: the shipped default without its guarantees, changed.
    pub fn filter(mut self, change: impl FnOnce(&mut Value)) -> Self {
        let mut filter = self.filter.take().unwrap_or_else(|| {
            let mut filter = json("seccomp/default.json");
            filter["guarantees"] = Value::Array(Vec::new());
            filter
        });
        change(&mut filter);
        self.filter = Some(filter);
        self.policy["filter"] = "filter.json".into();
        self.policy["guarantees"] = serde_json::json!(["never reboot"]);
        self
    }

    /// Takes every entry of a call out of the filter, and puts one that allows it in.
    pub fn allow(self, entry: Value) -> Self {
        let name = entry["call"].as_str().unwrap().to_owned();
        self.filter(|filter| {
            remove(filter, &name);
            let group = serde_json::json!({ "group": format!("trial-{name}"), "action": "allow", "reason": "for this trial", "calls": [entry] });
            filter["groups"].as_array_mut().unwrap().push(group);
        })
    }

    /// Another name of the file.
    pub fn file(mut self, name: &'static str) -> Self {
        self.file = name;
        self
    }

    /// Writes both files, and says where the policy is.
    pub fn path(&self) -> PathBuf {
        if let Some(filter) = &self.filter {
            std::fs::write(self.dir.path().join("filter.json"), format!("{filter:#}\n")).unwrap();
        }
        let path = self.dir.path().join(self.file);
        std::fs::write(&path, format!("{:#}\n", self.policy)).unwrap();
        path
    }

    /// The same as a word of the command line.
    pub fn word(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }
}

/// Takes every entry of a call out of a filter.
pub fn remove(filter: &mut Value, name: &str) {
    for group in filter["groups"].as_array_mut().unwrap() {
        group["calls"].as_array_mut().unwrap().retain(|call| call != name && call["call"] != name);
    }
    filter["groups"].as_array_mut().unwrap().retain(|group| !group["calls"].as_array().unwrap().is_empty());
}

fn put(value: &mut Value, pointer: &str, new: Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    value.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}"))[name] = new;
}

/// A JSON file of the checkout.
pub fn json(path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(checkout().join(path)).unwrap()).unwrap()
}

/// What the program printed and its exit code.
pub struct Printed {
    pub out: String,
    pub err: String,
    pub code: i32,
}

/// Runs `skilljail policy …`.
pub fn policy(args: &[&str]) -> Printed {
    let output = Command::new(SKILLJAIL).arg("policy").args(args).current_dir(checkout()).output().unwrap();
    Printed {
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap(),
    }
}

/// The same, and its output is JSON.
pub fn value(args: &[&str]) -> Value {
    let printed = policy(args);
    serde_json::from_str(&printed.out)
        .unwrap_or_else(|e| panic!("{args:?}: {e}: {}{}", printed.out, printed.err))
}
