//! Each attack of the battery against each wall: with all of them down (`control`), with each left out, with each alone.

use super::control::{Failure, told};
use super::words::{BatteryArgs, MatrixArgs};
use crate::attack::case::{self, Case, Class};
use crate::attack::engine::Engine;
use crate::attack::judge::Verdict;
use crate::attack::stage::Network;
use crate::attack::{in_parallel, threads};
use crate::cmd::Io;
use crate::exit::Exit;
use crate::layer::Layer;
use crate::policy::Policy;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};

/// The marks in a README between which the summary stands.
const MARKS: [&str; 2] = ["<!-- matrix -->\n", "<!-- /matrix -->"];

/// What stands there in a cell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Walls {
    /// All of them.
    All,
    /// Nothing but what the case needs.
    None,
    /// All but this layer.
    Without(&'static str),
    /// Only this layer, and what the case needs.
    Alone(&'static str),
}

/// The layers of the jail, and what the supervisor does.
fn layers() -> Vec<&'static str> {
    Layer::ALL.map(Layer::name).into_iter().chain(["supervisor"]).collect()
}

impl Walls {
    /// The words of `cell`.
    fn words(&self, case: &Case) -> Vec<OsString> {
        let still = &case.spec.control.still;
        let with = |more: &[&str]| {
            let list: Vec<&str> = more.iter().copied().chain(still.iter().map(String::as_str)).collect();
            if list.is_empty() { ("--without", "all".to_owned()) } else { ("--only", list.join(",")) }
        };
        let (flag, list) = match self {
            Self::All => return Vec::new(),
            Self::None => with(&[]),
            Self::Without(layer) => ("--without", (*layer).to_owned()),
            Self::Alone(layer) => with(&[layer]),
        };
        vec![flag.into(), list.into()]
    }
}

pub(super) fn chosen(args: &BatteryArgs) -> Result<Vec<Case>, Failure> {
    let policy = Policy::load(&args.policy)?;
    let mut cases = case::all()?;
    cases.retain(|case| case.applies(policy.name()));
    let wanted = |case: &Case| args.attack.iter().any(|word| case.class.name() == word || case.id() == *word);
    cases.retain(|case| args.attack.is_empty() || wanted(case));
    if cases.is_empty() {
        return Err(format!("--attack {}: no such attack", args.attack.join(",")).into());
    }
    Ok(cases)
}

fn cells(args: &BatteryArgs, cells: Vec<(Case, Walls)>) -> Result<Vec<(Case, Walls, Verdict)>, Failure> {
    let program = std::env::current_exe()?;
    let network = Network::most(&Policy::load(&args.policy)?);
    let terminal = std::io::stderr().is_terminal();
    let all = cells.len();
    let run = |(case, walls): &(Case, Walls)| {
        let mut words: Vec<OsString> = vec!["cell".into()];
        words.extend(walls.words(case));
        words.extend(["--canary".into(), "OUTSIDE".into()]);
        let engine = Engine {
            program: program.clone(),
            words,
            runtime: args.runtime.clone(),
            policy: args.policy.clone(),
            network,
            canary: Some("/canary".into()),
            live: false,
            key: None,
        };
        engine.run(case).verdict
    };
    let progress = |done: usize, _: &(Case, Walls), _: &Verdict| {
        if terminal {
            drop(write!(std::io::stderr(), "\r{done}/{all}"));
        }
    };
    let results = in_parallel(cells, args.jobs.unwrap_or_else(threads), run, progress);
    Ok(results.into_iter().map(|((case, walls), verdict)| (case, walls, verdict)).collect())
}

/// Why the control of a case that did not reach its canary is none of ours: the host lacks the part of the kernel.
fn lacking(case: &Case, verdict: &Verdict) -> Option<String> {
    if let Some(why) = &case.spec.control.unreachable {
        return Some(why.clone());
    }
    let Verdict::Contained { how, .. } = verdict else { return None };
    let known = |errno: &str| case.spec.control.lacking.iter().any(|lacking| lacking == errno);
    (!how.is_empty() && how.split(' ').all(known))
        .then(|| format!("this host answers {how} without any wall"))
}

fn shown(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Contained { how, .. } => format!("held: {how}"),
        Verdict::Escaped(reached) => format!("reached: {}", reached.join("; ")),
        Verdict::Unclear(why) => format!("unclear: {why}"),
    }
}

/// `control` of the battery: every attack must reach its canary when its walls are down.
pub fn control(args: &BatteryArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let cases = chosen(args)?.into_iter().map(|case| (case, Walls::None)).collect();
    let (mut reached, mut without, mut failed, mut all) = (0, 0, 0, 0);
    for (case, _, verdict) in cells(args, cases)? {
        all += 1;
        if matches!(verdict, Verdict::Escaped(_)) {
            reached += 1;
        } else if let Some(why) = lacking(&case, &verdict) {
            without += 1;
            writeln!(io.out, "{}: cannot be shown on this host: {why}", case.id())?;
        } else {
            failed += 1;
            writeln!(io.out, "{}: {}", case.id(), shown(&verdict))?;
        }
    }
    writeln!(io.out, "reached {reached} of {all}, cannot be shown here {without}, failed {failed}")?;
    Ok(if failed == 0 { Exit::Success } else { Exit::Findings })
}

/// Runs `matrix`.
pub fn matrix(args: &MatrixArgs, io: &mut Io<'_>) -> Exit {
    told(go(args, io), io)
}

/// The row of a case.
#[derive(Debug)]
struct Row {
    case: Case,
    verdicts: BTreeMap<Walls, Verdict>,
}

impl Row {
    fn held(&self, walls: &Walls) -> bool {
        matches!(self.verdicts.get(walls), Some(Verdict::Contained { .. }))
    }

    fn reached(&self, walls: &Walls) -> bool {
        matches!(self.verdicts.get(walls), Some(Verdict::Escaped(_)))
    }

    /// The layers that stop it alone.
    fn alone(&self) -> Vec<&'static str> {
        layers().into_iter().filter(|layer| self.held(&Walls::Alone(layer))).collect()
    }

    /// The layers without which it escapes from an otherwise whole jail.
    fn needed(&self) -> Vec<&'static str> {
        layers().into_iter().filter(|layer| self.reached(&Walls::Without(layer))).collect()
    }

    /// Whether its control shows that it is an attack at all here.
    fn is_shown(&self) -> bool {
        self.reached(&Walls::None)
    }

    /// What is wrong with it.
    fn errors(&self) -> Vec<String> {
        let mut errors = Vec::new();
        let verdict = |walls: &Walls| self.verdicts.get(walls).map(shown).unwrap_or_default();
        if !self.held(&Walls::All) {
            errors.push(format!("the whole jail: {}", verdict(&Walls::All)));
        }
        if !self.is_shown() {
            let lacking = self.verdicts.get(&Walls::None).and_then(|verdict| lacking(&self.case, verdict));
            if lacking.is_none() {
                errors.push(format!("the control: {}", verdict(&Walls::None)));
            }
            return errors;
        }
        let declared = self.case.spec.wall.as_str();
        if let Some(layer) = layers().into_iter().find(|layer| *layer == declared) {
            let alone = Walls::Alone(layer);
            if !self.held(&alone) {
                errors.push(format!("{declared} alone: {}", verdict(&alone)));
            }
        } else {
            errors.push(format!("{declared} is no layer"));
        }
        errors
    }
}

fn go(args: &MatrixArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let mut all = Vec::new();
    for case in chosen(&args.battery)? {
        let mut add = |walls| all.push((case.clone(), walls));
        add(Walls::All);
        add(Walls::None);
        for layer in layers() {
            add(Walls::Without(layer));
            add(Walls::Alone(layer));
        }
    }
    let mut rows: Vec<Row> = Vec::new();
    for (case, walls, verdict) in cells(&args.battery, all)? {
        match rows.last_mut().filter(|row| row.case.id() == case.id()) {
            Some(row) => {
                row.verdicts.insert(walls, verdict);
            }
            None => rows.push(Row { case, verdicts: BTreeMap::from([(walls, verdict)]) }),
        }
    }
    let errors: Vec<String> = rows
        .iter()
        .flat_map(|row| row.errors().into_iter().map(|error| format!("{}: {error}", row.case.id())))
        .collect();
    let summary = summary(&rows);
    if args.json {
        let table: Vec<Value> = rows.iter().map(value).collect();
        writeln!(io.out, "{:#}", json!({"laboratory": true, "attacks": table, "errors": errors}))?;
    } else {
        for row in &rows {
            let alone =
                if row.is_shown() { row.alone().join(" ") } else { "cannot be shown here".to_owned() };
            writeln!(io.out, "{:<36} alone: {alone:<44} needed: {}", row.case.id(), row.needed().join(" "))?;
        }
        writeln!(io.out, "\n{summary}")?;
        for error in &errors {
            writeln!(io.out, "error: {error}")?;
        }
    }
    if let Some(path) = &args.readme {
        let text = std::fs::read_to_string(path)?;
        std::fs::write(path, between(&text, &summary).ok_or("the README has no marks for the matrix")?)?;
    }
    Ok(if errors.is_empty() { Exit::Success } else { Exit::Findings })
}

fn value(row: &Row) -> Value {
    let cells: Vec<Value> = row
        .verdicts
        .iter()
        .map(|(walls, verdict)| json!({"walls": format!("{walls:?}"), "verdict": shown(verdict)}))
        .collect();
    json!({
        "class": row.case.class, "name": row.case.name, "declared": row.case.spec.wall, "shown": row.is_shown(),
        "stopped_alone_by": row.alone(), "escapes_without": row.needed(), "cells": cells,
    })
}

/// For the README: how many attacks of each class are held by how many walls, and what each wall does alone.
fn summary(rows: &[Row]) -> String {
    let mut out =
        String::from("| class | attacks | one wall | two | three and more |\n|---|---|---|---|---|\n");
    let mut line = |name: &str, rows: &[&Row]| {
        let held = |fits: fn(usize) -> bool| rows.iter().filter(|row| fits(row.alone().len())).count();
        let counts = [rows.len(), held(|n| n == 1), held(|n| n == 2), held(|n| n >= 3)];
        let counts = counts.map(|n| n.to_string()).join(" | ");
        let _ = writeln!(out, "| {name} | {counts} |");
    };
    let shown: Vec<&Row> = rows.iter().filter(|row| row.is_shown()).collect();
    for class in Class::ALL {
        let of: Vec<&Row> = shown.iter().copied().filter(|row| row.case.class == class).collect();
        if !of.is_empty() {
            line(class.name(), &of);
        }
    }
    line("all", &shown);
    out.push_str("\n| wall | stops alone | escape without it |\n|---|---|---|\n");
    for layer in layers() {
        let alone = shown.iter().filter(|row| row.held(&Walls::Alone(layer))).count();
        let needed = shown.iter().filter(|row| row.reached(&Walls::Without(layer))).count();
        let _ = writeln!(out, "| {layer} | {alone} | {needed} |");
    }
    out
}

fn between(text: &str, summary: &str) -> Option<String> {
    let (before, rest) = text.split_once(MARKS[0])?;
    let (_, after) = rest.split_once(MARKS[1])?;
    Some(format!("{before}{}{summary}{}{after}", MARKS[0], MARKS[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_goes_between_its_marks_and_nowhere_else() {
        let text = "a\n<!-- matrix -->\nold\n<!-- /matrix -->\nb\n";
        let new = between(text, "new\n").unwrap();
        assert_eq!(new, "a\n<!-- matrix -->\nnew\n<!-- /matrix -->\nb\n");
        assert_eq!(between(&new, "new\n").unwrap(), new);
        assert_eq!(between("no marks", "new"), None);
    }

    #[test]
    fn a_row_is_wrong_when_its_wall_does_not_hold_alone_or_nothing_was_shown() {
        let case = case::all().unwrap().into_iter().find(|case| case.spec.wall == "seccomp").unwrap();
        let held = || Verdict::Contained { how: "EPERM".to_owned(), expected: true };
        let reached = || Verdict::Escaped(vec!["a file".to_owned()]);
        let row = |control, alone, whole| Row {
            case: case.clone(),
            verdicts: BTreeMap::from([
                (Walls::All, whole),
                (Walls::None, control),
                (Walls::Alone("seccomp"), alone),
            ]),
        };
        assert_eq!(row(reached(), held(), held()).errors(), [""; 0]);
        assert_eq!(row(reached(), reached(), held()).errors().len(), 1);
        assert_eq!(row(reached(), Verdict::Unclear(String::new()), held()).errors().len(), 1);
        assert_eq!(row(held(), held(), held()).errors().len(), 1);
        assert_eq!(row(reached(), held(), reached()).errors().len(), 1);
    }
}
