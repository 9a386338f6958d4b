//! What differs from the policy that most skills run with: who knows that one needs to read no more than this.

use super::{section, table};
use crate::audit::diff::{Change, DiffError, Direction, diff};
use crate::audit::sheet::Section;
use crate::policy::Policy;

/// The policy that others are told against.
const KNOWN: &str = "default";
/// A longer value says nothing in a cell: the section of its layer has it in full.
const CELL: usize = 160;

/// The section; none where there is nothing to tell.
///
/// # Errors
/// The two cannot be compared exactly.
pub fn of(policy: &Policy) -> Result<Option<Section>, DiffError> {
    let Ok(known) = Policy::load(KNOWN) else { return Ok(None) };
    let changes = diff(&known, policy)?;
    if changes.is_empty() {
        return Ok(None);
    }
    let head = ["which way", "what", "in default", "here", "why"];
    let about = "By meaning, as `policy diff default` compares: wider lets through what default does not.";
    let rows = changes.iter().map(row).collect();
    Ok(Some(section("differences", about, vec![table("against default", &head, rows)])))
}

fn row(change: &Change) -> Vec<String> {
    let way = match change.direction {
        Direction::Wider => "wider",
        Direction::Narrower => "narrower",
        Direction::Other => "other",
    };
    let cell = |text: &str| match text {
        long if long.chars().count() > CELL => format!("see {}", change.area),
        short => short.to_owned(),
    };
    vec![
        way.to_owned(),
        format!("{} {}", change.area, change.subject),
        cell(&change.old),
        cell(&change.new),
        change.reason.clone().unwrap_or_default(),
    ]
}
