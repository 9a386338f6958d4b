//! What is wrong with a policy that can be loaded: findings with stable ids.
//!
//! A rule about calls is a promise in the language of guarantees, decided of the compiled program for every input; the others
//! look at the plan. Ids are never reused.

mod calls;
mod egress;
mod layers;
mod limits;
mod words;

use super::places::Places;
use crate::plan::Plan;
use crate::policy::{Policy, PolicyError};
use crate::seccomp::{Action, Arch, Filter, guarantee};
use serde::Serialize;

/// How loud a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Fails `policy check`.
    Error,
    /// Fails with `--deny warnings`.
    Warning,
    /// Fails with `--deny notes`.
    Note,
}

impl Severity {
    /// As SARIF spells it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// How a rule finds.
enum Find {
    /// Each of these sentences must be provable of the program.
    Never(&'static [&'static str]),
    /// Looks for itself.
    With(fn(&Subject<'_>) -> Vec<Hit>),
    /// Never asked: the policy could not be loaded.
    Load,
}

/// One rule.
pub struct Rule {
    /// `SJ-P` and three digits.
    pub id: &'static str,
    /// A short name.
    pub name: &'static str,
    /// How loud.
    pub severity: Severity,
    /// Why it is there.
    pub why: &'static str,
    /// The public advisory, thread or document that it comes from; empty where it comes from the design alone.
    pub source: &'static str,
    /// What to do.
    pub fix: &'static str,
    find: Find,
}

/// What is looked at.
struct Subject<'a> {
    /// As the caller named it.
    word: &'a str,
    policy: &'a Policy,
    plan: &'a Plan,
    filter: &'a Filter,
}

/// One hit of a rule, before its place is known.
struct Hit {
    at: At,
    what: String,
}

enum At {
    /// A JSON pointer into the policy.
    Policy(String),
    /// File and line of the filter.
    Filter(String, usize),
}

impl Hit {
    fn policy(pointer: &str, what: impl Into<String>) -> Self {
        Self { at: At::Policy(pointer.to_owned()), what: what.into() }
    }

    fn rule(rule: &crate::seccomp::filter::Rule, what: impl Into<String>) -> Self {
        Self { at: At::Filter(rule.place().file.clone(), rule.place().line), what: what.into() }
    }
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// Its name.
    pub name: &'static str,
    /// How loud.
    pub severity: Severity,
    /// The file.
    pub path: String,
    /// The line, from 1; 0: not known.
    pub line: usize,
    /// What was found.
    pub what: String,
    /// Why it matters.
    pub why: &'static str,
    /// Where that comes from.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub source: &'static str,
    /// What to do.
    pub fix: &'static str,
}

const REFUSED: Rule = Rule {
    id: "SJ-P001",
    name: "policy-refused",
    severity: Severity::Error,
    why: "A policy that cannot be loaded runs nothing: status policy_rejected, exit 122.",
    source: "",
    fix: "The message says what and where; `skilljail policy schema` prints the shape.",
    find: Find::Load,
};

/// Every rule, by rising id.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    std::iter::once(&REFUSED)
        .chain(limits::RULES)
        .chain(layers::RULES)
        .chain(egress::RULES)
        .chain(words::RULES)
        .chain(calls::RULES)
}

/// The rule of that id, in any letter case.
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.id.eq_ignore_ascii_case(id))
}

/// Everything that is wrong with a policy, by place.
pub fn check(word: &str, policy: &Policy, plan: &Plan, filter: &Filter) -> Vec<Finding> {
    let (subject, places) = (Subject { word, policy, plan, filter }, Places::of(word));
    let mut findings: Vec<Finding> = rules()
        .flat_map(|rule| {
            let hits = match &rule.find {
                Find::Never(sentences) => broken(&subject, sentences),
                Find::With(look) => look(&subject),
                Find::Load => Vec::new(),
            };
            hits.into_iter().map(move |hit| (rule, hit))
        })
        .map(|(rule, hit)| {
            let (path, line) = match hit.at {
                At::Policy(pointer) => (places.path().to_owned(), places.line(&pointer)),
                At::Filter(file, line) => (file, line),
            };
            finding(rule, path, line, hit.what)
        })
        .collect();
    findings
        .sort_by(|a, b| (a.severity, &a.path, a.line, a.rule).cmp(&(b.severity, &b.path, b.line, b.rule)));
    findings
}

/// The one finding of a policy that cannot be loaded.
pub fn refused(word: &str, error: &PolicyError) -> Finding {
    let line = if let PolicyError::Json { source, .. } = error { source.line() } else { 0 };
    finding(&REFUSED, Places::of(word).path().to_owned(), line, error.to_string())
}

fn finding(rule: &'static Rule, path: String, line: usize, what: String) -> Finding {
    Finding {
        rule: rule.id,
        name: rule.name,
        severity: rule.severity,
        path,
        line,
        what,
        why: rule.why,
        source: rule.source,
        fix: rule.fix,
    }
}

/// The sentences that do not hold, each with its witness and at the rule that lets it through.
fn broken(subject: &Subject<'_>, sentences: &[&str]) -> Vec<Hit> {
    let mut hits = Vec::new();
    for sentence in sentences {
        let Some(witness) = witness(subject, sentence) else { continue };
        let name = witness.split('(').next().unwrap_or_default().to_owned();
        let what = format!("`{sentence}` does not hold: {witness}");
        let rule = subject.filter.rules_of(&name).find(|rule| rule.action() == Action::Allow);
        hits.push(rule.map_or_else(|| Hit::policy("/filter", &what), |rule| Hit::rule(rule, &what)));
    }
    hits
}

/// An input that breaks a sentence, in words; nothing where it holds on every architecture.
fn witness(subject: &Subject<'_>, sentence: &str) -> Option<String> {
    let parsed = match guarantee::parse(sentence) {
        Ok(parsed) => parsed,
        Err((what, _)) => return Some(what),
    };
    let programs = Arch::ALL.into_iter().map(|arch| (arch, subject.policy.filter().program_for(arch)));
    programs
        .into_iter()
        .find_map(|(arch, program)| parsed.prove(arch, program).err())
        .map(|broken| broken.witness)
}

fn holds(subject: &Subject<'_>, sentence: &str) -> bool {
    witness(subject, sentence).is_none()
}
