//! A policy: what a run may do, parsed and checked once, immutable after.

pub mod egress;
pub mod limits;
pub mod schema;
pub mod units;

pub use egress::{Egress, EgressError};
pub use limits::{Bound, Limits};
pub use schema::{CgroupMode, Contract, DeviceName, NetworkMode};

use crate::{seccomp, target};
use sha2::{Digest as _, Sha256};
use std::path::Path;

/// The shipped profiles, as they stand in `policies/`.
pub const SHIPPED: &[(&str, &str)] = &[
    ("default", include_str!("../../policies/default.json")),
    ("egress", include_str!("../../policies/egress.json")),
    ("egress-public", include_str!("../../policies/egress-public.json")),
    ("strict", include_str!("../../policies/strict.json")),
    ("tfrobot", include_str!("../../policies/tfrobot.json")),
];

/// A policy file is at most this large.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// What is wrong with a policy. The author of the policy file can mend each.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// No shipped profile has this name.
    #[error("no policy {name:?} is shipped\nhint: shipped are {}; a file's name has a `/` or ends in .json", .shipped.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names there are.
        shipped: Vec<&'static str>,
    },
    /// The file cannot be read.
    #[error("policy {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is larger than any policy.
    #[error("policy {path}: larger than {MAX_FILE_BYTES} bytes")]
    TooLarge {
        /// The file.
        path: String,
    },
    /// Not the JSON of a policy.
    #[error(
        "policy {path}: {source}\nhint: `skilljail policy schema` prints the shape; policies/default.json is an example"
    )]
    Json {
        /// The file.
        path: String,
        /// What and where.
        source: serde_json::Error,
    },
    /// Another format.
    #[error("`version` is {found}: this build reads version 1")]
    Version {
        /// What stands there.
        found: u32,
    },
    /// A name with other characters.
    #[error("`name` {name:?} is not 1 to 64 of [a-z0-9-]")]
    Name {
        /// What stands there.
        name: String,
    },
    /// A permission without a reason.
    #[error("`{field}.reason` is empty\nhint: say who needs it, a reviewer reads it")]
    Reason {
        /// Where.
        field: String,
    },
    /// A size or a duration that is none.
    #[error("`{field}`: {source}")]
    Unit {
        /// Where.
        field: &'static str,
        /// What.
        source: units::UnitError,
    },
    /// A number outside its range.
    #[error("`{field}` is {value}: it must be from {low} to {high}")]
    Range {
        /// Where.
        field: &'static str,
        /// What stands there.
        value: u64,
        /// The least.
        low: u64,
        /// The most.
        high: u64,
    },
    /// RLIMIT_CPU counts whole seconds.
    #[error("`{field}` is {value:?}: it must be whole seconds")]
    WholeSeconds {
        /// Where.
        field: &'static str,
        /// What stands there.
        value: String,
    },
    /// The filter is not shipped and cannot be loaded.
    #[error("`filter`: {why}")]
    Filter {
        /// What and why.
        why: String,
    },
    /// A Landlock floor above the target, or an ABI that this build does not know.
    #[error(
        "`landlock`: require_abi {require} and target_abi {target} must be 1 <= require_abi <= target_abi <= {}",
        schema::NEWEST_LANDLOCK_ABI
    )]
    Landlock {
        /// The floor.
        require: u32,
        /// The target.
        target: u32,
    },
    /// The range of outer ids holds uid 0 or runs over.
    #[error(
        "`outer_ids`: first {first}, count {count}: the range must not be empty, hold uid 0 or pass 4294967294"
    )]
    OuterIds {
        /// The first.
        first: u32,
        /// How many.
        count: u32,
    },
    /// A variable's name or value cannot be one, is reserved, or stands twice.
    #[error("`environment` {name:?}: {why}")]
    Variable {
        /// The name.
        name: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A sentence of `guarantees` that is none, or that the compiled filter breaks.
    #[error("`guarantees[{index}]` {sentence:?}: {why}")]
    Guarantee {
        /// Which.
        index: usize,
        /// The sentence.
        sentence: String,
        /// What is wrong, or an input that breaks it.
        why: String,
    },
    /// What is wrong with the `egress` part.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// A device stands twice.
    #[error("`devices` lists {name:?} twice")]
    Device {
        /// Which.
        name: DeviceName,
    },
}

/// A policy, checked.
#[derive(Debug)]
pub struct Policy {
    file: schema::PolicyFile,
    limits: Limits,
    filter: seccomp::Compiled,
    egress: Option<Egress>,
    // Of runs without a network, where the policy has one.
    offline: Option<seccomp::Compiled>,
    digest: String,
}

impl Policy {
    /// A shipped profile's name, or a file when `word` has a `/` or ends in `.json`.
    pub fn load(word: &str) -> Result<Self, PolicyError> {
        let is_file = word.contains('/')
            || Path::new(word).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        if is_file {
            return Self::from_file(Path::new(word));
        }
        let Some((_, text)) = SHIPPED.iter().find(|(name, _)| *name == word) else {
            let shipped = SHIPPED.iter().map(|(name, _)| *name).collect();
            return Err(PolicyError::Unknown { name: word.to_owned(), shipped });
        };
        Self::parse(text.as_bytes(), word, None)
    }

    fn from_file(path: &Path) -> Result<Self, PolicyError> {
        let shown = path.display().to_string();
        let bytes = target::read_file(path, MAX_FILE_BYTES).map_err(|source| {
            let path = shown.clone();
            match source.kind() {
                std::io::ErrorKind::FileTooLarge => PolicyError::TooLarge { path },
                _ => PolicyError::Read { path, source },
            }
        })?;
        Self::parse(&bytes, &shown, path.parent())
    }

    /// Parses and checks the bytes of a policy file; `beside` is where a filter file is looked for.
    pub fn parse(bytes: &[u8], path: &str, beside: Option<&Path>) -> Result<Self, PolicyError> {
        let file: schema::PolicyFile = serde_json::from_slice(bytes)
            .map_err(|source| PolicyError::Json { path: path.to_owned(), source })?;
        // The shipped ones are read by a test, so that a run need not.
        if beside.is_some() {
            named(&file, bytes).map_err(|source| PolicyError::Json { path: path.to_owned(), source })?;
        }
        check(&file)?;
        let limits = Limits::new(&file.limits)?;
        let egress = file.egress.as_ref().map(Egress::new).transpose()?;
        let offline =
            file.egress.as_ref().map(|egress| filter(&egress.offline_filter, beside)).transpose()?;
        let filter = filter(&file.filter, beside)?;
        // Of the shipped ones the build has proven them.
        if beside.is_some() {
            guarantees(&file, &filter)?;
        }
        let mut hash = Sha256::new();
        hash.update(bytes);
        // The filter is part of what the policy says.
        hash.update(filter.digest().as_bytes());
        if let Some(offline) = &offline {
            hash.update(offline.digest().as_bytes());
        }
        Ok(Self { limits, filter, egress, offline, digest: crate::digest::hex(&hash.finalize()), file })
    }

    /// Takes the network away, for a run of a skill that asks for none: the filter is the one without sockets.
    pub fn go_offline(&mut self) {
        if let (Some(egress), Some(offline)) = (self.file.egress.take(), self.offline.take()) {
            self.filter = offline;
            self.file.filter = egress.offline_filter;
            self.file.network = schema::Network {
                mode: NetworkMode::None,
                reason: "the skill asks for no network".to_owned(),
            };
            self.egress = None;
        }
    }

    /// Narrows where a run may connect to.
    pub fn narrow_egress(&mut self, words: &[String]) -> Result<(), EgressError> {
        match &mut self.egress {
            Some(egress) => egress.narrow(words),
            None => words.first().map_or(Ok(()), |word| {
                let why = format!("the run has no network under the policy {:?}", self.file.name);
                Err(EgressError::Narrow { word: word.clone(), why })
            }),
        }
    }

    /// Where a run may connect to.
    pub fn egress(&self) -> Option<&Egress> {
        self.egress.as_ref()
    }

    /// The policy's name.
    pub fn name(&self) -> &str {
        &self.file.name
    }

    /// sha256 over the file's bytes and the filter's digest, in lower-case hex.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Every bound.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The compiled filter.
    pub fn filter(&self) -> &seccomp::Compiled {
        &self.filter
    }

    /// The rest, as the file says it; checked.
    pub fn file(&self) -> &schema::PolicyFile {
        &self.file
    }
}

fn filter(word: &str, beside: Option<&Path>) -> Result<seccomp::Compiled, PolicyError> {
    if Path::new(word).extension().is_none_or(|extension| extension != "json") {
        return seccomp::shipped(word)
            .ok_or_else(|| PolicyError::Filter { why: format!("no filter {word:?} is shipped") });
    }
    filter_file(word, beside)
}

#[cfg(feature = "review")]
fn filter_file(word: &str, beside: Option<&Path>) -> Result<seccomp::Compiled, PolicyError> {
    let path = beside.unwrap_or(Path::new(".")).join(word);
    let shown = path.display().to_string();
    let unusable = |why: &dyn std::fmt::Display| PolicyError::Filter { why: format!("{shown}: {why}") };
    let bytes = target::read_file(&path, MAX_FILE_BYTES).map_err(|error| unusable(&error))?;
    let text = std::str::from_utf8(&bytes).map_err(|error| unusable(&error))?;
    seccomp::load(&shown, text).map_err(|error| PolicyError::Filter { why: error.to_string() })
}

#[cfg(not(feature = "review"))]
fn filter_file(word: &str, _beside: Option<&Path>) -> Result<seccomp::Compiled, PolicyError> {
    Err(PolicyError::Filter {
        why: format!(
            "{word:?} is a file, and this build has no prover to read it with\nhint: use a shipped filter, or the full build"
        ),
    })
}

/// Proves each sentence of the policy for every input, on each architecture.
#[cfg(feature = "review")]
fn guarantees(file: &schema::PolicyFile, filter: &seccomp::Compiled) -> Result<(), PolicyError> {
    for (index, sentence) in file.guarantees.iter().enumerate() {
        let wrong = |why: String| PolicyError::Guarantee { index, sentence: sentence.clone(), why };
        let parsed = seccomp::guarantee::parse(sentence).map_err(|(what, hint)| {
            wrong(hint.map_or(what.clone(), |hint| format!("{what}\nhint: {hint}")))
        })?;
        for arch in seccomp::Arch::ALL {
            let broken = |broken: seccomp::verify::Broken| {
                wrong(format!(
                    "it does not hold: {}\nhint: `skilljail policy explain` says which rule lets it through",
                    broken.witness
                ))
            };
            parsed.prove(arch, filter.program_for(arch)).map_err(broken)?;
        }
    }
    Ok(())
}

/// Without a prover only what the filter's own build has proven word for word can be promised.
#[cfg(not(feature = "review"))]
fn guarantees(file: &schema::PolicyFile, filter: &seccomp::Compiled) -> Result<(), PolicyError> {
    let proven = filter.filter().map(seccomp::Filter::guarantees).unwrap_or_default();
    match file.guarantees.iter().enumerate().find(|(_, sentence)| !proven.contains(sentence)) {
        None => Ok(()),
        Some((index, sentence)) => Err(PolicyError::Guarantee {
            index,
            sentence: sentence.clone(),
            why: "this build has no prover, and the filter does not promise it in these words\nhint: use a sentence of the filter's own guarantees, or the full build".to_owned(),
        }),
    }
}

/// Serde reads a struct from an array as well; a policy whose numbers stand without their names is not what the schema
/// says, and not what a reviewer's tool sees.
fn named(file: &schema::PolicyFile, bytes: &[u8]) -> Result<(), serde_json::Error> {
    use serde::de::Error as _;
    use serde_json::Value;
    fn same(path: &str, meant: &Value, written: &Value) -> Result<(), serde_json::Error> {
        match (meant, written) {
            (Value::Object(meant), Value::Object(written)) => meant.iter().try_for_each(|(key, meant)| {
                written.get(key).map_or(Ok(()), |written| same(&format!("{path}/{key}"), meant, written))
            }),
            (Value::Object(_), _) => Err(serde_json::Error::custom(format!("{path:?} is not an object"))),
            (Value::Array(meant), Value::Array(written)) => {
                let mut pairs = meant.iter().zip(written).enumerate();
                pairs.try_for_each(|(index, (meant, written))| {
                    same(&format!("{path}/{index}"), meant, written)
                })
            }
            _ => Ok(()),
        }
    }
    same("", &serde_json::to_value(file)?, &serde_json::from_slice(bytes)?)
}

fn reason(field: &str, reason: &str) -> Result<(), PolicyError> {
    if reason.trim().is_empty() {
        return Err(PolicyError::Reason { field: field.to_owned() });
    }
    Ok(())
}

fn check(file: &schema::PolicyFile) -> Result<(), PolicyError> {
    if file.version != 1 {
        return Err(PolicyError::Version { found: file.version });
    }
    let name = &file.name;
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(good) {
        return Err(PolicyError::Name { name: name.clone() });
    }
    for (field, text) in [
        ("network", &file.network.reason),
        ("landlock", &file.landlock.reason),
        ("cgroup", &file.cgroup.reason),
        ("outer_ids", &file.outer_ids.reason),
    ] {
        reason(field, text)?;
    }
    if (file.network.mode == NetworkMode::Egress) != file.egress.is_some() {
        return Err(EgressError::Mode.into());
    }
    let (require, target) = (file.landlock.require_abi, file.landlock.target_abi);
    if require < 1 || require > target || target > schema::NEWEST_LANDLOCK_ABI {
        return Err(PolicyError::Landlock { require, target });
    }
    let (first, count) = (file.outer_ids.first, file.outer_ids.count);
    if first == 0 || count == 0 || first.checked_add(count).is_none() {
        return Err(PolicyError::OuterIds { first, count });
    }
    for (index, device) in file.devices.iter().enumerate() {
        reason("devices[]", &device.reason)?;
        if file.devices.iter().take(index).any(|other| other.name == device.name) {
            return Err(PolicyError::Device { name: device.name });
        }
    }
    check_environment(&file.environment)
}

fn check_environment(variables: &[schema::Variable]) -> Result<(), PolicyError> {
    for (index, variable) in variables.iter().enumerate() {
        let wrong = |why| PolicyError::Variable { name: variable.name.clone(), why };
        let mut characters = variable.name.chars();
        let head = characters.next().is_some_and(|c| c.is_ascii_uppercase() || c == '_');
        if !head || !characters.all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') {
            return Err(wrong("a name is [A-Z_][A-Z0-9_]*"));
        }
        if variable.name.starts_with("LD_") || variable.name.starts_with("TFROBOT_") {
            return Err(wrong("this name is reserved"));
        }
        if variable.value.chars().any(char::is_control) {
            return Err(wrong("the value has a control character"));
        }
        if variables.iter().take(index).any(|other| other.name == variable.name) {
            return Err(wrong("it stands twice"));
        }
        reason("environment[]", &variable.reason)?;
    }
    Ok(())
}
