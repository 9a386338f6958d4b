//! Everything that is wrong with a skill, and what that means.

use super::admission::{self, Surroundings};
use super::finding::{Finding, shown};
use super::load::left_out;
use super::rules::{self, Cost, Severity};
use super::tier::Tier;
use super::{Skill, SkillError, contract};
use std::collections::BTreeSet;
use std::path::Path;

/// The verdict on one skill.
#[derive(Debug)]
pub struct Checked {
    /// Its name.
    pub name: String,
    /// Its runtime.
    pub tier: Tier,
    /// Valid for the Agent Skills standard.
    pub standard: bool,
    /// Whether `run` takes it.
    pub runnable: Runnable,
    /// Whether its scripts were reviewed.
    pub reviewed: bool,
    /// By path, line and column.
    pub findings: Vec<Finding>,
}

/// Whether `run` takes a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runnable {
    /// It does.
    Yes,
    /// It does, although the review of the scripts has errors: the jail holds by itself.
    ButReview,
    /// It does where the policy says `contract: optional`.
    WithoutContract,
    /// It does not, for this reason.
    No(&'static str),
}

impl Runnable {
    /// For people and for JSON.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::ButReview => "yes, but the review of its scripts has errors",
            Self::WithoutContract => "only with contract: optional",
            Self::No(reason) => reason,
        }
    }
}

impl Checked {
    /// How many findings are of that severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.rule.severity() == severity).count()
    }
}

/// Checks the skill in a folder. `runtime` holds the modules of the runtime that would run it, if one is known.
///
/// # Errors
///
/// The folder cannot be opened; whatever else is wrong is a finding.
pub fn check(path: &Path, runtime: Option<BTreeSet<String>>) -> Result<Checked, SkillError> {
    let skill = Skill::examine(path)?;
    let mut findings = skill.findings().to_vec();
    let reviewed = files(&skill, runtime, &mut findings);
    findings.sort_by(|a, b| {
        let key = |f: &Finding| (f.path.clone(), f.line, f.column, f.rule.id);
        key(a).cmp(&key(b))
    });
    let costs = |cost| findings.iter().any(|finding: &Finding| finding.rule.cost == cost);
    let runnable = match skill.tier().refusal() {
        Some(reason) => Runnable::No(reason),
        None if costs(Cost::Standard) || costs(Cost::Runnable) => Runnable::No("it is refused"),
        None if costs(Cost::Contract) => Runnable::WithoutContract,
        None if costs(Cost::Admission) => Runnable::ButReview,
        None => Runnable::Yes,
    };
    Ok(Checked {
        name: skill.name().to_owned(),
        tier: skill.tier(),
        standard: !costs(Cost::Standard),
        runnable,
        reviewed,
        findings,
    })
}

/// Reads every file: what cannot be read, what is compiled, and the review of the Python. Tells whether there was one.
fn files(skill: &Skill, runtime: Option<BTreeSet<String>>, findings: &mut Vec<Finding>) -> bool {
    // Scripts that nothing here runs were written for another place.
    let review = skill.tier().is_python();
    let mut sources = Vec::new();
    for entry in &skill.listing().entries {
        if let Some(what) = compiled(&entry.path) {
            findings.push(Finding::of(&rules::COMPILED, &shown(&entry.path), what));
        }
        match skill.package().read_entry(entry) {
            Err(error) => {
                let seen =
                    findings.iter().any(|f| f.path == shown(&entry.path) && f.rule == &rules::UNREADABLE);
                if !seen {
                    findings.push(Finding::of(&rules::UNREADABLE, &shown(&entry.path), error.to_string()));
                }
            }
            Ok(bytes) if review && admission::is_source(&entry.path) && !left_out(entry) => {
                sources.push((entry.path.as_str(), bytes));
            }
            Ok(_) => {}
        }
    }
    for (path, bytes) in &sources {
        if let (Some(key), Some(contract)) = (path.strip_prefix("scripts/"), skill.contract())
            && contract.script(key).is_none()
            && admission::is_program(bytes)
        {
            let what = format!("xray.json does not name {}", shown(key));
            findings.push(Finding::of(&rules::SCRIPT_UNLISTED, &shown(path), what));
        }
    }
    let files: Vec<(&str, &[u8])> = sources.iter().map(|(path, bytes)| (*path, bytes.as_slice())).collect();
    findings.extend(admission::review(&files, &Surroundings::of(skill, runtime)));
    !files.is_empty()
}

fn compiled(path: &str) -> Option<&'static str> {
    if path.split('/').any(|part| part == "__pycache__") {
        Some("a Python cache; it is not put into the jail")
    } else if ["pyc", "pyo", "so", "pyd", "dll", "dylib"].iter().any(|ext| contract::has_extension(path, ext))
    {
        Some("compiled code")
    } else {
        None
    }
}
