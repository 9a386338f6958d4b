//! A policy as a reader meets it: the sentences that matter first, then a section a layer. Text and HTML are made of this
//! one value.

use super::sections::differences;
use crate::plan::Plan;
use crate::policy::Policy;
use serde::Serialize;

/// A whole policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sheet {
    /// Its name.
    pub policy: String,
    /// What it is for.
    pub description: String,
    /// Names and values: digests and the like.
    pub facts: Vec<(String, String)>,
    /// What matters first.
    pub sentences: Vec<Sentence>,
    /// One a layer, in the order of their application, then what belongs to none.
    pub sections: Vec<Section>,
}

/// A sentence, and why one may believe it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sentence {
    /// A stable word for it.
    pub id: &'static str,
    /// The sentence.
    pub text: String,
    /// Whether the good sentence holds of this policy.
    pub holds: bool,
    /// Where it does not hold: what is so instead, and why.
    pub broken: Option<String>,
    /// Which walls enforce it, each with how; where it does not hold, which are left.
    pub by: Vec<Wall>,
    /// What shows it.
    pub proof: Vec<Proof>,
}

/// A wall's part in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wall {
    /// The layer's name.
    pub layer: &'static str,
    /// What it does.
    pub how: String,
}

/// What shows a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// A guarantee, proven now of the compiled program for every input, on each architecture.
    Guarantee(String),
    /// A test that tries it on a real kernel: file and function.
    Test(&'static str),
}

/// What one layer allows and refuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Section {
    /// The layer, or `limits`, `environment`.
    pub name: &'static str,
    /// In a sentence.
    pub about: String,
    /// The tables.
    pub tables: Vec<Table>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Table {
    /// What it lists.
    pub title: String,
    /// The columns.
    pub head: Vec<&'static str>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

/// The policy's own filter cannot be read again: our fault, since it was read when the policy was loaded.
#[derive(Debug, thiserror::Error)]
#[error("the policy cannot be told: {0}")]
pub struct SheetError(String);

impl Sheet {
    /// Everything there is to say of a policy and its plan.
    ///
    /// # Errors
    /// The filter cannot be read.
    pub fn new(policy: &Policy, plan: &Plan) -> Result<Self, SheetError> {
        let filter = policy.filter().filter().map_err(|why| SheetError(why.to_owned()))?;
        let file = policy.file();
        let fact = |name: &str, value: String| (name.to_owned(), value);
        let facts = vec![
            fact("policy digest (file and filter)", plan.policy_digest.clone()),
            fact("filter", format!("{} ({})", plan.seccomp.filter, policy.filter().file())),
            fact("filter digest (the program)", plan.seccomp.digest.clone()),
            fact("filter instructions", plan.seccomp.instructions.to_string()),
            fact(
                "runtime",
                match &file.runtime.digest {
                    Some(digest) => format!("only the tree {digest}"),
                    None => "any pinned tree that verifies".to_owned(),
                },
            ),
            fact(
                "contract",
                match file.contract {
                    crate::policy::Contract::Required => {
                        "a skill without xray.json is refused; the input is checked against it".to_owned()
                    }
                    crate::policy::Contract::Optional => {
                        "a skill without xray.json may run any of its scripts with any JSON object".to_owned()
                    }
                },
            ),
        ];
        let mut sections = super::sections::of(policy, plan, filter);
        sections.extend(differences::of(policy).map_err(|why| SheetError(why.to_string()))?);
        Ok(Self {
            policy: policy.name().to_owned(),
            description: file.description.clone(),
            facts,
            sentences: super::sentences::of(policy, plan),
            sections,
        })
    }
}
