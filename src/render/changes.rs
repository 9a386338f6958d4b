//! The differences of two policies, for eyes, for a pull request and for code scanners.

use crate::audit::diff::{Change, ChangePlace, Direction};
use crate::render::sarif;
use crate::render::text::tty_safe;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Sets of arguments that the text shows of one change; JSON has them all.
const SHOWN: usize = 8;

/// How many went which way.
fn count(changes: &[Change], direction: Direction) -> usize {
    changes.iter().filter(|change| change.direction == direction).count()
}

fn summary(changes: &[Change]) -> String {
    if changes.is_empty() {
        return "equal: the new policy lets through exactly what the old one does".to_owned();
    }
    let (wider, narrower, other) = (
        count(changes, Direction::Wider),
        count(changes, Direction::Narrower),
        count(changes, Direction::Other),
    );
    let verdict = if wider > 0 { "WIDER" } else { "not wider" };
    format!("{verdict}: {wider} wider, {narrower} narrower, {other} other")
}

/// One line on one change.
fn line(change: &Change) -> String {
    format!("{} {}: {} -> {}", change.area, change.subject, change.old, change.new)
}

fn place(change: &Change) -> Option<String> {
    match &change.place {
        ChangePlace::Filter { file, line } => Some(format!("{file}:{line}")),
        ChangePlace::Policy(_) => None,
    }
}

/// For people.
pub fn text(changes: &[Change]) -> String {
    let mut out = summary(changes) + "\n";
    for change in changes {
        let sign = match change.direction {
            Direction::Wider => "+",
            Direction::Narrower => "-",
            Direction::Other => "~",
        };
        let _ = write!(out, "\n{sign} {}", line(change));
        if !change.architectures.is_empty() {
            let _ = write!(out, "  [{}]", change.architectures.join(", "));
        }
        out.push('\n');
        for set in change.when.iter().take(SHOWN) {
            let _ = writeln!(out, "    where {set}");
        }
        if change.when.len() > SHOWN {
            let _ = writeln!(
                out,
                "    where … and {} more sets of arguments (--format json has them)",
                change.when.len() - SHOWN
            );
        }
        if let Some(witness) = &change.witness {
            let _ = writeln!(
                out,
                "    for instance {}: number {} on {}",
                witness.call, witness.number, witness.arch
            );
        }
        if let Some(reason) = &change.reason {
            let _ = writeln!(out, "    because {reason}");
        }
        if let Some(place) = place(change) {
            let _ = writeln!(out, "    at {place}");
        }
    }
    tty_safe(&out).into_owned()
}

/// For programs.
pub fn json(old: &str, new: &str, changes: &[Change]) -> Value {
    json!({
        "version": 1,
        "old": old,
        "new": new,
        "wider": count(changes, Direction::Wider) > 0,
        "counts": {
            "wider": count(changes, Direction::Wider),
            "narrower": count(changes, Direction::Narrower),
            "other": count(changes, Direction::Other),
        },
        "changes": changes,
    })
}

/// A cell of a Markdown table: nothing in it can end the cell, start markup or mention anybody.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '@' => out.push_str("&#64;"),
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '#' | '!' | '~' | '>' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    tty_safe(&out).into_owned()
}

/// A comment for a pull request.
pub fn markdown(old: &str, new: &str, changes: &[Change]) -> String {
    let mut out = format!(
        "### `skilljail policy diff`: {}\n\n{} → {}\n",
        cell(&summary(changes)),
        cell(old),
        cell(new)
    );
    for (direction, title) in [
        (Direction::Wider, "Wider: let through now, refused before"),
        (Direction::Narrower, "Narrower"),
        (Direction::Other, "Neither"),
    ] {
        let some: Vec<&Change> = changes.iter().filter(|change| change.direction == direction).collect();
        if some.is_empty() {
            continue;
        }
        let _ = write!(
            out,
            "\n**{title}**\n\n| what | old | new | for instance | why |\n|---|---|---|---|---|\n"
        );
        for change in some {
            let witness = change
                .witness
                .as_ref()
                .map_or(String::new(), |witness| format!("{} on {}", witness.call, witness.arch));
            let reason = change.reason.clone().unwrap_or_default();
            let what = format!("{} {}", change.area, change.subject);
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                cell(&what),
                cell(&change.old),
                cell(&change.new),
                cell(&witness),
                cell(&reason)
            );
        }
    }
    out
}

const RULES: [(&str, &str, &str, &str); 3] = [
    ("SJ-D001", "wider", "The new policy lets through what the old one does not.", "error"),
    ("SJ-D002", "narrower", "The new policy refuses what the old one lets through.", "note"),
    ("SJ-D003", "changed", "Another refusal or another promise; nothing more is let through.", "note"),
];

/// For code scanners. `path` is the new policy's file; `line` finds the line of a JSON pointer in it.
pub fn sarif(path: &str, line_of: &dyn Fn(&str) -> usize, allow_wider: bool, changes: &[Change]) -> Value {
    let rules: Vec<sarif::Rule<'_>> = RULES
        .iter()
        .map(|(id, name, short, level)| sarif::Rule { id, name, short, long: short, level })
        .collect();
    let findings: Vec<sarif::Finding<'_>> = changes
        .iter()
        .map(|change| {
            let (rule, level) = match change.direction {
                Direction::Wider => (0, if allow_wider { "warning" } else { "error" }),
                Direction::Narrower => (1, "note"),
                Direction::Other => (2, "note"),
            };
            let mut message = line(change);
            if let Some(witness) = &change.witness {
                let _ = write!(message, "\nfor instance {} on {}", witness.call, witness.arch);
            }
            let (path, line) = match &change.place {
                ChangePlace::Policy(pointer) => (path.to_owned(), line_of(pointer)),
                ChangePlace::Filter { file, line } => (file.clone(), *line),
            };
            sarif::Finding { rule, level, message, path, line: u32::try_from(line).unwrap_or(0), column: 0 }
        })
        .collect();
    sarif::log(&rules, &findings)
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn a_cell_cannot_be_left() {
        assert_eq!(cell("a|b\n`c` @all <img>"), "a\\|b \\`c\\` &#64;all &lt;img\\>");
    }
}
