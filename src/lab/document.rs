//! The laboratory's document: the result of the run, and what makes it worthless as a promise.

use super::canaries::Judged;
use super::trace::Need;
use crate::layer::without::{MARKER, Without};
use crate::report::{Enforced, Report};
use serde::Serialize;

/// The document.
#[derive(Debug, Serialize)]
pub struct Document {
    /// Always true.
    pub laboratory: bool,
    /// What that means.
    pub note: &'static str,
    /// The walls that were left out; of `trace`: the filter, whose denials were let through.
    pub left_out: Vec<&'static str>,
    /// What became of what was put outside the jail.
    pub canaries: Option<Judged>,
    /// Whether no canary was touched.
    pub untouched: Option<bool>,
    /// Of `trace`: the entries that a filter would need.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<Vec<Need>>,
    /// The rest is the document of `skilljail`.
    #[serde(flatten)]
    pub report: Report,
}

impl Document {
    /// Says of each layer what of it was left out.
    pub fn new(mut report: Report, without: Without, canaries: Option<Judged>) -> Self {
        for entry in &mut report.layers {
            let of_layer = |set: Without| set.walls().filter(|wall| wall.layer() == entry.name).count();
            let (out, all) = (of_layer(without), of_layer(Without::default().all_but()));
            if out > 0 && entry.enforced != Enforced::None {
                entry.enforced = if out == all { Enforced::None } else { Enforced::Partial };
            }
        }
        Self {
            laboratory: true,
            note: MARKER,
            left_out: without.walls().map(crate::layer::without::Wall::name).collect(),
            untouched: canaries.as_ref().map(Judged::untouched),
            canaries,
            needs: None,
            report,
        }
    }

    /// As one line of JSON.
    pub fn to_json(&self) -> String {
        // Strings, numbers, and maps with string keys: there is nothing in it that could fail.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}
