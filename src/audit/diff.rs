//! What one policy lets through that another does not: by meaning, never by text.
//!
//! The filter is compared exactly: both programs are followed over the whole input space. Everything else is compared in
//! its own terms, and whatever is left of the plan at the end that nothing here has a term for counts as wider.

mod egress;
mod filter;
mod terms;

use super::region_words::Witness;
use super::representative;
use crate::plan::PlanError;
use crate::policy::Policy;
use crate::seccomp::prove::Unprovable;
use serde::Serialize;

/// Which way something went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The new policy lets through what the old one does not.
    Wider,
    /// The reverse.
    Narrower,
    /// Neither: another refusal, another promise.
    Other,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Which way.
    pub direction: Direction,
    /// `seccomp`, `limits`, `network`, `landlock`, `files`, `devices`, `environment`, `cgroup`, `contract`, `runtime`, `ids`,
    /// `guarantees` or `plan`.
    pub area: &'static str,
    /// What: a call, a limit, a path.
    pub subject: String,
    /// What the old policy says.
    pub old: String,
    /// What the new one says.
    pub new: String,
    /// For calls: the architectures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub architectures: Vec<&'static str>,
    /// For calls: the exact sets of arguments, which together are all that changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<String>,
    /// For calls: an input that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
    /// Why the new policy says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where: a JSON pointer into the new policy file, or file and line of the filter.
    pub place: ChangePlace,
}

/// Where the new policy says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangePlace {
    /// A JSON pointer into the policy file.
    Policy(String),
    /// A line of the filter's file.
    Filter {
        /// The file.
        file: String,
        /// The line, from 1; 0: not known.
        line: usize,
    },
}

/// The comparison could not be made.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// A filter is too tangled for the prover. Its author is at fault.
    #[error("the filters cannot be compared exactly: {0}")]
    Filter(#[from] Unprovable),
    /// A filter cannot be read again. Our fault.
    #[error("a filter cannot be read: {0}")]
    Unread(String),
    /// A policy has no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A plan is no JSON. Our fault.
    #[error("a plan cannot be written down: {0}")]
    Json(#[from] serde_json::Error),
}

/// All differences, the wider ones first.
///
/// # Errors
/// The comparison could not be made; it is never guessed.
pub fn diff(old: &Policy, new: &Policy) -> Result<Vec<Change>, DiffError> {
    let plans = (representative::wanted(old)?, representative::wanted(new)?);
    let mut changes = filter::compare(old.filter(), new.filter())?;
    changes.extend(terms::compare(old, new, &plans.0, &plans.1)?);
    changes.sort_by_key(|change| change.direction);
    Ok(changes)
}

/// Whether anything is wider.
pub fn is_wider(changes: &[Change]) -> bool {
    changes.iter().any(|change| change.direction == Direction::Wider)
}
