//! A policy's sheet as text.

use crate::audit::sheet::{Proof, Section, Sheet, Table};
use crate::render::text::tty_safe;
use std::fmt::Write as _;

/// Columns wider than this are wrapped onto lines of their own by the terminal; the last column is never padded.
const WIDEST: usize = 46;

/// The whole sheet.
pub fn text(sheet: &Sheet) -> String {
    let mut out = format!("policy {}\n{}\n\n", sheet.policy, sheet.description);
    for (name, value) in &sheet.facts {
        let _ = writeln!(out, "  {name}: {value}");
    }
    out.push_str("\nWhat matters first\n");
    for sentence in &sheet.sentences {
        let mark = if sentence.holds { "holds" } else { "NOT  " };
        let _ = writeln!(out, "\n  [{mark}] {}", sentence.text);
        if let Some(why) = &sentence.broken {
            let _ = writeln!(out, "          because {why}");
        }
        for wall in &sentence.by {
            let word = if sentence.holds { "by" } else { "left is" };
            let _ = writeln!(out, "          {word} {}: {}", wall.layer, wall.how);
        }
        let proven: Vec<&str> = sentence
            .proof
            .iter()
            .filter_map(|proof| if let Proof::Guarantee(words) = proof { Some(words.as_str()) } else { None })
            .collect();
        if !proven.is_empty() {
            let _ = writeln!(out, "          proven for every input: {}", proven.join("; "));
        }
        for proof in &sentence.proof {
            if let Proof::Test(place) = proof {
                let _ = writeln!(out, "          tried on a kernel: {place}");
            }
        }
    }
    for section in &sheet.sections {
        one(section, &mut out);
    }
    tty_safe(&out).into_owned()
}

fn one(section: &Section, out: &mut String) {
    let _ = write!(out, "\n== {} ==\n{}\n", section.name, section.about);
    for table in &section.tables {
        if !table.title.is_empty() {
            let _ = write!(out, "\n{}:\n", table.title);
        }
        columns(table, out);
    }
}

/// A table in columns; what repeats from the row above in the first column is left out.
fn columns(table: &Table, out: &mut String) {
    let width = |column: usize| {
        let cells = table.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(table.head.get(column).map(|cell| cell.chars().count())).max().unwrap_or(0).min(WIDEST)
    };
    let widths: Vec<usize> = (0..table.head.len()).map(width).collect();
    let mut line = |cells: &[&str]| {
        let mut text = String::from(" ");
        for (index, cell) in cells.iter().enumerate() {
            let wide = if index + 1 == cells.len() { 0 } else { widths.get(index).copied().unwrap_or(0) };
            let _ = write!(text, " {cell:<wide$} ");
        }
        out.push_str(text.trim_end());
        out.push('\n');
    };
    line(&table.head);
    let mut above: Option<&String> = None;
    for row in &table.rows {
        let repeated = row.len() > 3 && above == row.first();
        let cells: Vec<&str> = row
            .iter()
            .enumerate()
            .map(|(i, cell)| if i == 0 && repeated { "" } else { cell.as_str() })
            .collect();
        line(&cells);
        above = row.first();
    }
}
