//! The result document: one JSON object, written by the supervisor alone. It decides nothing.

use crate::egress::{Entry, log::Verdict};
use serde::Serialize;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words are the contract's own; the manual explains each")]
pub enum Status {
    Ok,
    ScriptError,
    Signaled,
    Timeout,
    CpuLimit,
    MemoryLimit,
    DiskLimit,
    ProcessLimit,
    OutputLimit,
    KilledByPolicy,
    InputRejected,
    SkillRejected,
    PolicyRejected,
    SetupFailed,
    Cancelled,
    SupervisorFailed,
}

/// Why nothing ran, or what ended it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
pub struct Error {
    /// A stable word for programs.
    pub id: String,
    /// The layer, where one failed.
    pub layer: Option<String>,
    /// The step of it, as the man page names the call.
    pub step: Option<String>,
    /// The kernel's answer.
    pub errno: Option<i32>,
    /// What happened and why, for people.
    pub cause: String,
    /// What to do.
    pub hint: Option<String>,
}

/// Digests of what went in and out: sha256, lower-case hex.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
pub struct Digests {
    /// The policy file and its filter.
    pub policy: Option<String>,
    /// The BPF program.
    pub filter: Option<String>,
    /// The pinned Python.
    pub runtime: Option<RuntimeDigest>,
    /// The skill's files.
    pub skill: Option<String>,
    /// The input as it came.
    pub input: Option<String>,
    /// stdout.
    pub stdout: Option<String>,
}

/// The runtime's digest and how it was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
pub struct RuntimeDigest {
    /// Of the tree.
    pub digest: String,
    /// `full`: every file was hashed; `identity`: the files are the ones that were hashed when it was built.
    pub verified: &'static str,
}

/// Whether a layer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Enforced {
    /// As planned.
    Full,
    /// All that this kernel knows; the details say what it does not.
    Partial,
    /// Not applied: nothing ran, or it was not reached.
    None,
}

/// One layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
pub struct LayerEntry {
    /// Its name.
    pub name: &'static str,
    /// Whether it holds.
    pub enforced: Enforced,
    /// Facts of this run.
    pub details: serde_json::Map<String, serde_json::Value>,
}

/// Who keeps a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words are the contract's own")]
pub enum Backend {
    Rlimit,
    Cgroup2,
    Tmpfs,
    Supervisor,
}

/// Whether a limit was reached, on the kernel's or the supervisor's testimony.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "yes, no, and: only the program could know")]
pub enum Reached {
    Yes,
    No,
    Unknown,
}

/// One limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
pub struct LimitEntry {
    /// Its name in the policy.
    pub name: &'static str,
    /// Its value, in the unit.
    pub value: u64,
    /// ms, s, bytes or count.
    pub unit: &'static str,
    /// Who keeps it.
    pub backend: Backend,
    /// Whether it was reached.
    pub reached: Reached,
}

/// What the run used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
pub struct Usage {
    /// From exec to the end.
    pub wall_ms: u64,
    /// From the start of set-up to exec.
    pub setup_us: u64,
    /// User and system time of the jail.
    pub cpu_ms: u64,
    /// Highest resident set of one of its processes.
    pub max_rss_kib: u64,
    /// Bytes in the workdir at the end.
    pub workdir_bytes: u64,
    /// Bytes on stdout.
    pub stdout_bytes: u64,
    /// Bytes on stderr.
    pub stderr_bytes: u64,
}

/// A step of the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
pub struct Timing {
    /// Its name: a part of the command, a step of the supervisor, or a layer in the child.
    pub step: String,
    /// How long it took, in microseconds.
    pub us: u64,
}

impl Timing {
    /// A step.
    pub fn new(step: &str, took: std::time::Duration) -> Self {
        Self { step: step.to_owned(), us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX) }
    }
}

/// What went before the input of a run that was started ahead (`--warm`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
pub struct Warm {
    /// From exec until the script waited for its input; none: it never did.
    pub ready_ms: Option<u64>,
    /// From then until the input was handed over, or to the end.
    pub idle_ms: u64,
    /// Memory of the script as it waited (its proportional set size), where that could be read.
    pub idle_kib: Option<u64>,
    /// Whether an input was handed over.
    pub served: bool,
}

/// The line before the document of a run that was started ahead: the script waits for its input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
pub struct ReadyLine {
    /// The format: 1.
    pub version: u32,
    /// Always true: what tells it from the document, which has a `status`.
    pub ready: bool,
    /// From the start of set-up to exec.
    pub setup_us: u64,
    /// From exec until the script waited.
    pub ready_ms: u64,
    /// Its memory then, where that could be read.
    pub idle_kib: Option<u64>,
}

impl ReadyLine {
    /// As one line of JSON.
    pub fn to_json(&self) -> String {
        // Numbers and one bool: there is nothing in it that could fail.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

/// A refused call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
pub struct DenialEntry {
    /// Its name, or number.
    pub syscall: String,
    /// The call in words: `socket(domain=AF_INET, type=SOCK_STREAM, protocol=0)`.
    pub call: String,
    /// The six arguments, as hexadecimal numbers.
    pub args: Vec<String>,
    /// How often.
    pub count: u64,
    /// Which wall.
    pub layer: &'static str,
    /// Why the policy refuses it.
    pub reason: String,
    /// The entry that refuses it, as `file:line`; none: the filter's answer to what it does not list.
    pub place: Option<String>,
    /// What would have to change for it.
    pub suggestion: String,
}

/// A collected file, or one that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
pub struct Artifact {
    /// Its path below `out`, in the jail; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Its name below `--out`, when it was collected.
    pub saved_as: Option<String>,
    /// Its apparent size.
    pub bytes: u64,
    /// sha256, when it was collected.
    pub sha256: Option<String>,
    /// Why not, when it was refused.
    pub refused: Option<String>,
    /// Refused by the folder that the caller named, and not by the policy: the run's result is not where it was wanted. For
    /// the exit code; `refused` says it to readers.
    #[serde(skip)]
    pub unsaved: bool,
}

/// A stream in the document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
pub struct Stream {
    /// `utf-8` or `base64`.
    pub encoding: &'static str,
    /// The text, or the bytes in base64.
    pub text: String,
}

impl Stream {
    /// As text when it is text.
    pub fn new(bytes: &[u8]) -> Self {
        use base64::Engine as _;
        match std::str::from_utf8(bytes) {
            Ok(text) => Self { encoding: "utf-8", text: text.to_owned() },
            Err(_) => {
                Self { encoding: "base64", text: base64::engine::general_purpose::STANDARD.encode(bytes) }
            }
        }
    }
}

/// The document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
pub struct Report {
    /// The format: 1.
    pub version: u32,
    /// How it ended.
    pub status: Status,
    /// The script's exit code, when it exited.
    pub exit_code: Option<u8>,
    /// The signal, when one ended it; of a cancelled run the one that the supervisor got.
    pub signal: Option<i32>,
    /// What went wrong, when something did.
    pub error: Option<Error>,
    /// The skill's name; for `exec` none.
    pub skill: Option<String>,
    /// The script; for `exec` the program.
    pub script: Option<String>,
    /// The policy's name.
    pub policy: Option<String>,
    /// The caller's words changed what the policy says.
    pub policy_modified: bool,
    /// Digests.
    pub digests: Digests,
    /// One entry a layer, in the order of their application.
    pub layers: Vec<LayerEntry>,
    /// Every limit.
    pub limits: Vec<LimitEntry>,
    /// What was used.
    pub usage: Usage,
    /// The steps of the start, with `--timings` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timings: Option<Vec<Timing>>,
    /// What went before the input, with `--warm` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm: Option<Warm>,
    /// What was refused.
    pub denials: Vec<DenialEntry>,
    /// All denied calls, also those beyond the kept ones.
    pub denials_total: u64,
    /// Lookups, connections and refusals of the egress profile.
    pub egress: Vec<Entry>,
    /// All of them, also those beyond the kept ones.
    pub egress_total: u64,
    /// Of these the attempts that came faster than they could be read: the kernel counted them, nobody saw where they went.
    pub egress_lost: u64,
    /// Artifacts.
    pub artifacts: Vec<Artifact>,
    /// Names of the secrets that the script had.
    pub secrets: Vec<String>,
    /// stdout, with `--json` only.
    pub stdout: Option<Stream>,
    /// stderr's tail, with `--json` only.
    pub stderr: Option<Stream>,
}

impl Report {
    /// Where the egress part of the policy let the script not go, by name, or by address and port.
    pub fn refused_places(&self) -> impl Iterator<Item = String> {
        let refused = self.egress.iter().filter(|entry| entry.verdict == Verdict::Refused);
        refused.map(|entry| match (&entry.name, &entry.address, entry.port) {
            (Some(name), ..) if !name.is_empty() => name.clone(),
            (_, Some(address), Some(port)) => format!("{address} port {port}"),
            (_, Some(address), None) => address.clone(),
            _ => "no name".to_owned(),
        })
    }

    /// A document of a run that did not come to a jail.
    pub fn empty(status: Status) -> Self {
        Self {
            version: 1,
            status,
            exit_code: None,
            signal: None,
            error: None,
            skill: None,
            script: None,
            policy: None,
            policy_modified: false,
            digests: Digests::default(),
            layers: Vec::new(),
            limits: Vec::new(),
            usage: Usage::default(),
            timings: None,
            warm: None,
            denials: Vec::new(),
            denials_total: 0,
            egress: Vec::new(),
            egress_total: 0,
            egress_lost: 0,
            artifacts: Vec::new(),
            secrets: Vec::new(),
            stdout: None,
            stderr: None,
        }
    }

    /// The document as one line of JSON.
    pub fn to_json(&self) -> String {
        // Strings, numbers, and maps with string keys: there is nothing in it that could fail.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}
