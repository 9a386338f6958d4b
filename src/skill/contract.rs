//! `xray.json`: which scripts a skill has, what each takes, and whether they need the network.

mod reading;

pub use self::reading::parse;
use super::finding::{Finding, nearest, shown};
pub use super::input::{Input, InputError};
use super::package::{Listing, protected};
use super::rules;
use super::tier::Tier;
use serde_json::{Map, Value, json};

/// The file.
pub const XRAY_JSON: &str = "xray.json";
/// `xray.json` has at most this many bytes.
pub const MAX_BYTES: u64 = 256 << 10;
/// What `xray.json` promises.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contract {
    /// Whether the scripts need the network.
    pub network: Network,
    /// The scripts, in the order of the file.
    pub scripts: Vec<ScriptContract>,
}

/// The value of `network`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Network {
    /// No sockets.
    #[default]
    None,
    /// Outgoing connections, as far as the policy allows them.
    Egress,
}

/// One script's promise of input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptContract {
    /// Its path below `scripts/`.
    pub key: String,
    /// What it does.
    pub description: String,
    /// What its input may hold.
    pub parameters: Vec<Parameter>,
}

/// One key of a script's input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// The key.
    pub name: String,
    /// What it means.
    pub description: Option<String>,
    /// Whether it must be there.
    pub required: bool,
    /// What its value may be.
    pub kind: ParameterKind,
}

/// The closed subset of JSON Schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParameterKind {
    /// `string`
    Text {
        /// In characters (Unicode scalar values).
        max_length: u64,
        /// The only values, if they are listed.
        allowed: Option<Vec<String>>,
    },
    /// `integer` of 64 bits.
    Integer {
        /// Inclusive.
        minimum: Option<i64>,
        /// Inclusive.
        maximum: Option<i64>,
        /// The only values, if they are listed.
        allowed: Option<Vec<i64>>,
    },
    /// `boolean`
    Boolean,
}

impl Contract {
    /// The script of that key.
    pub fn script(&self, key: &str) -> Option<&ScriptContract> {
        self.scripts.iter().find(|script| script.key == key)
    }

    /// Judges the contract beside the tree and the runtime that it is for.
    pub fn check(&self, tier: Tier, listing: &Listing) -> Vec<Finding> {
        let find = |rule, what: String| Finding::of(rule, XRAY_JSON, what);
        let mut findings = Vec::new();
        if tier == Tier::PromptOnly && !self.scripts.is_empty() {
            let hint = "set the runtime in SKILL.md, for example cubesandbox::python";
            findings.push(find(&rules::CONTRACT_UNUSED, "scripts in a prompt-only skill".into()).hint(hint));
        }
        for script in &self.scripts {
            let path = format!("scripts/{}", script.key);
            if let Some(what) = key_fault(&script.key, tier) {
                findings.push(find(&rules::SCRIPT_KEY, format!("`{}`: {what}", shown(&script.key))));
            } else if listing.entry(&path).is_none() {
                let there = listing.entries.iter().filter_map(|entry| entry.path.strip_prefix("scripts/"));
                let mut missing = find(&rules::SCRIPT_MISSING, format!("there is no {}", shown(&path)));
                missing.hint = nearest(&script.key, there).map(|near| format!("is `{}` meant?", shown(near)));
                findings.push(missing);
            }
        }
        findings
    }
}

impl ScriptContract {
    /// The parameters as the JSON Schema that a caller may show to a model.
    pub fn schema(&self) -> Value {
        let properties: Map<String, Value> =
            self.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.schema())).collect();
        let required: Vec<&str> =
            self.parameters.iter().filter(|p| p.required).map(|p| p.name.as_str()).collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }
}

impl Parameter {
    fn schema(&self) -> Value {
        let mut schema = match &self.kind {
            ParameterKind::Text { max_length, allowed: None } => {
                json!({"type": "string", "maxLength": max_length})
            }
            ParameterKind::Text { max_length, allowed } => {
                json!({"type": "string", "maxLength": max_length, "enum": allowed})
            }
            ParameterKind::Integer { minimum, maximum, allowed } => {
                let mut schema = json!({"type": "integer"});
                let bounds =
                    [("minimum", json!(minimum)), ("maximum", json!(maximum)), ("enum", json!(allowed))];
                for (name, value) in bounds.into_iter().filter(|(_, value)| !value.is_null()) {
                    schema[name] = value;
                }
                schema
            }
            ParameterKind::Boolean => json!({"type": "boolean"}),
        };
        if let Some(description) = &self.description {
            schema["description"] = description.as_str().into();
        }
        schema
    }
}

/// What is wrong with a script's key.
fn key_fault(key: &str, tier: Tier) -> Option<&'static str> {
    if key.is_empty() || key.len() > 255 {
        Some("a key has 1 to 255 bytes")
    } else if key.split('/').any(|part| matches!(part, "" | "." | "..")) || key.starts_with('-') {
        Some("not a plain relative path below scripts/")
    } else if key.chars().any(|c| c.is_control() || c == '\\') {
        Some("a control character or a backslash")
    } else if protected(key) {
        Some("a protected name")
    } else if tier.is_python() && !has_extension(key, "py") {
        Some("the pinned Python runs *.py files only")
    } else {
        None
    }
}

/// Whether a path ends in `.extension`, in these very letters.
pub(super) fn has_extension(path: &str, extension: &str) -> bool {
    std::path::Path::new(path).extension().is_some_and(|found| found == extension)
}

/// The length of a text as JSON Schema counts it.
pub(super) fn length(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_scripts() {
        for key in [
            "",
            "/a.py",
            "../a.py",
            "a/../b.py",
            "a//b.py",
            "./a.py",
            "-a.py",
            "a\\b.py",
            "a.sh",
            ".skillenv/a.py",
        ] {
            assert!(key_fault(key, Tier::CubesandboxPython).is_some(), "{key}");
        }
        assert_eq!(key_fault("sub/a.py", Tier::CubesandboxPython), None);
        assert_eq!(key_fault("a.js", Tier::E2bNode), None);
    }
}
