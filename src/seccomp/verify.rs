//! What must be true of every filter before it is used, and the proof that it is.

use super::bpf::{SockFilter, describe};
use super::error::FilterError;
use super::filter::{Action, Arch, Condition, Filter, Test, X32_BIT};
use super::guarantee::{self, Guarantee};
use super::prove::{Prover, Unprovable, lets_through};
use super::region::{Region, TooComplex};
use super::syscalls::Width;
use super::{reference, tree};

/// Index of the number among the words.
const NR: u8 = 0;
/// Index of the architecture among the words.
const ARCH: u8 = 1;

/// A promise that an input breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The promise.
    pub claim: String,
    /// The input, in words, with the answer it got; or why the proof could not be made.
    pub witness: String,
}

impl Broken {
    fn unprovable(claim: &str, why: &Unprovable) -> Self {
        Self { claim: claim.to_owned(), witness: why.to_string() }
    }

    fn by(claim: &str, region: &Region, got: &str) -> Self {
        let input = region.witness().map_or_else(|e| e.to_string(), |data| describe(&data));
        Self { claim: claim.to_owned(), witness: format!("{input} gets: {got}") }
    }
}

/// Compiles a filter for all architectures and proves each program.
///
/// # Errors
/// The filter cannot be compiled, or something is not as the file says.
pub fn build(file: &str, filter: &Filter) -> Result<[Vec<SockFilter>; Arch::ALL.len()], FilterError> {
    let mut programs = [const { Vec::new() }; Arch::ALL.len()];
    let guarantees = guarantee::parse_all(file, filter.guarantees())?;
    for (arch, slot) in Arch::ALL.into_iter().zip(&mut programs) {
        let failed = |why| FilterError::Compile { file: file.to_owned(), arch: arch.name(), why };
        let program = tree::compile(filter, arch).map_err(failed)?;
        let second = reference::compile(filter, arch).map_err(failed)?;
        prove(filter, arch, &program, &second, &guarantees).map_err(|broken| FilterError::NotProven {
            file: file.to_owned(),
            arch: arch.name(),
            claim: broken.claim,
            witness: broken.witness,
        })?;
        *slot = program;
    }
    Ok(programs)
}

/// Proves one program: foreign architectures and x32 killed, each answer the file's, the allowed inputs those of the
/// reference, each guarantee true.
///
/// # Errors
/// The first promise that is broken, with an input that breaks it.
pub fn prove(
    filter: &Filter,
    arch: Arch,
    program: &[SockFilter],
    reference: &[SockFilter],
    guarantees: &[Guarantee],
) -> Result<(), Broken> {
    foreign(arch, program)?;
    as_the_file_says(filter, arch, program)?;
    same_as(program, reference)?;
    guarantees.iter().try_for_each(|g| g.prove(arch, program))
}

/// Nothing of another architecture, nothing with the x32 bit, gets through.
fn foreign(arch: Arch, program: &[SockFilter]) -> Result<(), Broken> {
    let everything = Region::everything();
    let claims = [
        (
            "every other architecture is killed",
            everything.listed(ARCH, &[arch.audit()], false),
            Action::KillProcess,
        ),
        ("every x32 number is refused", everything.between(NR, X32_BIT, u32::MAX), Action::Notify),
    ];
    for (claim, region, least) in claims {
        let check = || -> Result<Option<(Region, u32)>, Unprovable> {
            let Some(region) = region? else { return Ok(None) };
            let right =
                |ret| if least == Action::KillProcess { ret == least.ret() } else { !lets_through(ret) };
            Prover::new(program)?.exception(&region, right)
        };
        refuse(claim, check())?;
    }
    Ok(())
}

/// Every input gets what the file says.
fn as_the_file_says(filter: &Filter, arch: Arch, program: &[SockFilter]) -> Result<(), Broken> {
    const CLAIM: &str = "each call gets the action of the file";
    let cells = cells(filter, arch).map_err(|e| Broken::unprovable(CLAIM, &e.into()))?;
    let mut prover = Prover::new(program).map_err(|e| Broken::unprovable(CLAIM, &e))?;
    for (region, action) in cells {
        let claim = || format!("{CLAIM}, here: {action}");
        match prover.exception(&region, |ret| ret == action.ret()) {
            Ok(None) => {}
            Ok(Some((part, ret))) => return Err(Broken::by(&claim(), &part, &answer(ret))),
            Err(why) => return Err(Broken::unprovable(CLAIM, &why)),
        }
    }
    Ok(())
}

/// Both programs let the same inputs through.
fn same_as(program: &[SockFilter], reference: &[SockFilter]) -> Result<(), Broken> {
    const CLAIM: &str = "the program allows exactly what the reference (seccompiler) allows";
    let check = || {
        let mut second = Prover::new(reference)?;
        Prover::new(program)?.walk(&Region::everything(), |region, ret| {
            let through = lets_through(ret);
            let other = second.exception(region, |ret| lets_through(ret) == through)?;
            Ok(other.map(|(part, _)| (part, ret)))
        })
    };
    refuse(CLAIM, check())
}

pub(super) fn refuse(claim: &str, outcome: Result<Option<(Region, u32)>, Unprovable>) -> Result<(), Broken> {
    match outcome {
        Ok(None) => Ok(()),
        Ok(Some((region, ret))) => Err(Broken::by(claim, &region, &answer(ret))),
        Err(why) => Err(Broken::unprovable(claim, &why)),
    }
}

fn answer(ret: u32) -> String {
    Action::from_ret(ret).map_or_else(|| format!("{ret:#010x}"), |a| a.to_string())
}

/// The input space as the file cuts it: disjoint sets that cover it, each with its action.
pub(super) fn cells(filter: &Filter, arch: Arch) -> Result<Vec<(Region, Action)>, TooComplex> {
    let mut cells = Vec::new();
    let everything = Region::everything();
    if let Some(region) = everything.listed(ARCH, &[arch.audit()], false)? {
        cells.push((region, Action::KillProcess));
    }
    let Some(mut rest) = everything.listed(ARCH, &[arch.audit()], true)? else { return Ok(cells) };
    if arch == Arch::X86_64 {
        if let Some(x32) = rest.between(NR, X32_BIT, u32::MAX)? {
            cells.push((x32, Action::KillProcess));
        }
        let Some(native) = rest.between(NR, 0, X32_BIT - 1)? else { return Ok(cells) };
        rest = native;
    }
    let listed = filter.calls_on(arch);
    let numbers: Vec<u32> = listed.iter().map(|(nr, _)| *nr).collect();
    if let Some(unlisted) = rest.listed(NR, &numbers, false)? {
        cells.push((unlisted, filter.default_action().action()));
    }
    for (nr, rules) in listed {
        let mut open: Vec<Region> = rest.listed(NR, &[nr], true)?.into_iter().collect();
        for rule in rules {
            let mut still = Vec::new();
            for region in open {
                let (inside, outside) = split_all(&region, rule.when())?;
                cells.extend(inside.into_iter().map(|r| (r, rule.action())));
                still.extend(outside);
            }
            open = still;
        }
        cells.extend(open.into_iter().map(|r| (r, filter.mismatch_action().action())));
    }
    Ok(cells)
}

/// Two lists of disjoint parts: where something holds, and where not.
type Halves = (Vec<Region>, Vec<Region>);

/// Splits by a conjunction.
pub(crate) fn split_all(region: &Region, when: &[Condition]) -> Result<Halves, TooComplex> {
    let (mut inside, mut outside) = (vec![region.clone()], Vec::new());
    for condition in when {
        let mut still = Vec::new();
        for region in inside {
            let (yes, no) = split(&region, condition)?;
            still.extend(yes);
            outside.extend(no);
        }
        inside = still;
    }
    Ok((inside, outside))
}

/// Splits by one condition.
fn split(region: &Region, condition: &Condition) -> Result<Halves, TooComplex> {
    let wide = condition.arg().width == Width::W64;
    // Each argument has two words, the lower half first, behind number, architecture and instruction pointer.
    let low = 4 + 2 * condition.index();
    let swap = |(a, b): Halves| (b, a);
    match condition.test() {
        Test::In { mask, values } => members(region, low, wide, *mask, values),
        Test::Ne(v) => members(region, low, wide, u64::MAX, &[*v]).map(swap),
        Test::Ge(v) => at_least(region, low, wide, Some(*v)),
        Test::Gt(v) => at_least(region, low, wide, v.checked_add(1)),
        Test::Lt(v) => at_least(region, low, wide, Some(*v)).map(swap),
        Test::Le(v) => at_least(region, low, wide, v.checked_add(1)).map(swap),
    }
}

fn members(region: &Region, low: u8, wide: bool, mask: u64, values: &[u64]) -> Result<Halves, TooComplex> {
    let (mask_high, mask_low) = halves(mask);
    let (mut inside, mut outside, mut open) = (Vec::new(), Vec::new(), vec![region.clone()]);
    for group in values.chunk_by(|a, b| a >> 32 == b >> 32) {
        let (value_high, _) = group.first().map_or((0, 0), |v| halves(*v));
        let lows: Vec<u32> = group.iter().map(|v| halves(*v).1).collect();
        for region in std::mem::take(&mut open) {
            let mut here = vec![region.clone()];
            if wide {
                here = region.masked(low + 1, mask_high, value_high, true)?.into_iter().collect();
                open.extend(region.masked(low + 1, mask_high, value_high, false)?);
            }
            for region in here {
                if mask_low == u32::MAX {
                    inside.extend(region.listed(low, &lows, true)?);
                    outside.extend(region.listed(low, &lows, false)?);
                    continue;
                }
                let mut other = Some(region);
                for value in &lows {
                    let Some(region) = other else { break };
                    inside.extend(region.masked(low, mask_low, *value, true)?);
                    other = region.masked(low, mask_low, *value, false)?;
                }
                outside.extend(other);
            }
        }
    }
    outside.extend(open);
    Ok((inside, outside))
}

/// `register >= least`; no least: never.
fn at_least(region: &Region, low: u8, wide: bool, least: Option<u64>) -> Result<Halves, TooComplex> {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    let Some(least) = least.filter(|v| wide || v >> 32 == 0) else {
        return Ok((inside, vec![region.clone()]));
    };
    let (least_high, least_low) = halves(least);
    let mut here = Some(region.clone());
    if wide {
        if let Some(above) = least_high.checked_add(1) {
            inside.extend(region.between(low + 1, above, u32::MAX)?);
        }
        if let Some(below) = least_high.checked_sub(1) {
            outside.extend(region.between(low + 1, 0, below)?);
        }
        here = region.between(low + 1, least_high, least_high)?;
    }
    if let Some(region) = here {
        inside.extend(region.between(low, least_low, u32::MAX)?);
        if let Some(below) = least_low.checked_sub(1) {
            outside.extend(region.between(low, 0, below)?);
        }
    }
    Ok((inside, outside))
}

fn halves(value: u64) -> (u32, u32) {
    ((value >> 32) as u32, (value & 0xffff_ffff) as u32)
}

#[cfg(test)]
mod tests;
