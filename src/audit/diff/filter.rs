//! The exact difference of two programs.

use super::{Change, ChangePlace, DiffError, Direction};
use crate::audit::region_words::{self, name, when};
use crate::seccomp::bpf::SockFilter;
use crate::seccomp::prove::{Prover, Unprovable, lets_through};
use crate::seccomp::region::Region;
use crate::seccomp::syscalls::Table;
use crate::seccomp::{Action, Arch, Compiled, Filter};

/// Index of the number and of the architecture among the words.
const NR: u8 = 0;
const ARCH: u8 = 1;

/// A set of inputs on which the answers differ.
struct Part {
    region: Region,
    old: u32,
    new: u32,
}

/// All differences of two filters: one change a call and direction, for both architectures where they agree.
pub(super) fn compare(old: &Compiled, new: &Compiled) -> Result<Vec<Change>, DiffError> {
    let filters = (meaning(old)?, meaning(new)?);
    let mut changes: Vec<Change> = Vec::new();
    for arch in Arch::ALL {
        let (before, after) = (old.program_for(arch), new.program_for(arch));
        if before == after {
            continue;
        }
        for (number, region) in cut(arch)? {
            let parts = differing(before, after, &region)?;
            for direction in [Direction::Wider, Direction::Narrower, Direction::Other] {
                let some: Vec<&Part> = parts.iter().filter(|part| which(part) == direction).collect();
                let Some(change) = told(arch, number, direction, &some, filters)? else { continue };
                let same = changes.iter_mut().find(|other| {
                    (other.direction, &other.subject, &other.when, &other.old, &other.new)
                        == (change.direction, &change.subject, &change.when, &change.old, &change.new)
                });
                match same {
                    Some(other) => other.architectures.extend(change.architectures),
                    None => changes.push(change),
                }
            }
        }
    }
    Ok(changes)
}

fn meaning(compiled: &Compiled) -> Result<&Filter, DiffError> {
    compiled.filter().map_err(|why| DiffError::Unread(why.to_owned()))
}

/// The input space of an architecture's program, call by call; the last ones are all other numbers and architectures.
fn cut(arch: Arch) -> Result<Vec<(Option<u32>, Region)>, Unprovable> {
    let mut numbers: Vec<u32> =
        Table::builtin().calls().iter().filter_map(|call| call.number(arch)).collect();
    numbers.sort_unstable();
    let mut cells = Vec::new();
    let everything = Region::everything();
    if let Some(native) = everything.listed(ARCH, &[arch.audit()], true)? {
        for number in &numbers {
            cells.extend(native.listed(NR, &[*number], true)?.map(|region| (Some(*number), region)));
        }
        cells.extend(native.listed(NR, &numbers, false)?.map(|region| (None, region)));
    }
    cells.extend(everything.listed(ARCH, &[arch.audit()], false)?.map(|region| (None, region)));
    Ok(cells)
}

fn differing(old: &[SockFilter], new: &[SockFilter], region: &Region) -> Result<Vec<Part>, Unprovable> {
    let mut parts = Vec::new();
    let mut before = Prover::new(old)?;
    Prover::new(new)?.walk(region, |part, after| {
        before.walk(part, |both, was| {
            if was != after {
                parts.push(Part { region: both.clone(), old: was, new: after });
            }
            Ok(None::<()>)
        })
    })?;
    Ok(parts)
}

fn which(part: &Part) -> Direction {
    match (lets_through(part.old), lets_through(part.new)) {
        (false, true) => Direction::Wider,
        (true, false) => Direction::Narrower,
        _ => Direction::Other,
    }
}

fn answers(parts: &[&Part], of: impl Fn(&Part) -> u32) -> String {
    let mut rets: Vec<u32> = parts.iter().map(|part| of(part)).collect();
    rets.sort_unstable();
    rets.dedup();
    let words: Vec<String> = rets
        .into_iter()
        .map(|ret| Action::from_ret(ret).map_or_else(|| format!("{ret:#x}"), |action| action.to_string()))
        .collect();
    words.join(" or ")
}

fn told(
    arch: Arch,
    number: Option<u32>,
    direction: Direction,
    parts: &[&Part],
    (old, new): (&Filter, &Filter),
) -> Result<Option<Change>, Unprovable> {
    let Some(first) = parts.first() else { return Ok(None) };
    let data = first.region.witness()?;
    let call = number.and_then(|number| Table::builtin().numbered(arch, number));
    let mut sets: Vec<String> = parts.iter().map(|part| when(&part.region, call)).collect();
    sets.sort_unstable();
    sets.dedup();
    // What speaks: the rule that now allows, or the one that no longer does.
    let filter = if direction == Direction::Narrower { old } else { new };
    let (rule, _) = filter.decide(arch, data.nr(), &data.args());
    Ok(Some(Change {
        direction,
        area: "seccomp",
        subject: if number.is_some() {
            name(data.arch(), data.nr())
        } else {
            "numbers and architectures that have no name".to_owned()
        },
        old: answers(parts, |part| part.old),
        new: answers(parts, |part| part.new),
        architectures: vec![arch.name()],
        when: sets,
        witness: Some(region_words::witness(&data)),
        reason: rule.map(|rule| rule.reason().to_owned()),
        place: rule.map_or_else(
            || ChangePlace::Policy("/filter".to_owned()),
            |rule| ChangePlace::Filter { file: rule.place().file.clone(), line: rule.place().line },
        ),
    }))
}
