//! An exact interpreter of classic BPF over sets of inputs.
//!
//! Wherever the program compares, the set is split; what reaches a return is a set of inputs that all get this
//! answer, and these sets together are the whole that was put in. Nothing is sampled. An operation
//! that cannot be followed exactly (an order comparison of a masked word) is refused.

use super::bpf::{AND, JA, JEQ, JGE, JGT, JSET, LD, Malformed, RET, SockFilter, check};
use super::filter::Action;
use super::region::{Region, TooComplex};

/// Why a program could not be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unprovable {
    /// Not a program.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Too tangled.
    #[error(transparent)]
    TooComplex(#[from] TooComplex),
    /// Too many steps.
    #[error("the program has too many paths to follow them all")]
    TooLong,
    /// An order comparison of a masked word.
    #[error("instruction {0} compares a masked word by order, which this prover does not follow")]
    MaskedOrder(usize),
}

/// What the accumulator holds.
#[derive(Clone, Copy)]
enum Acc {
    Number(u32),
    Word { index: u8, mask: u32 },
}

/// Follows a program over a set of inputs.
pub struct Prover<'a> {
    program: &'a [SockFilter],
    steps: usize,
}

impl<'a> Prover<'a> {
    /// Instructions that are followed at most, over the prover's life: bounds a hostile file.
    const BUDGET: usize = 8_000_000;

    /// Takes a program that the kernel would take and whose operations we know.
    ///
    /// # Errors
    /// It is not one.
    pub fn new(program: &'a [SockFilter]) -> Result<Self, Unprovable> {
        check(program)?;
        Ok(Self { program, steps: 0 })
    }

    /// Splits `region` by what the program returns, and shows each part with its answer to `visit`, which stops the walk
    /// by `Some`.
    ///
    /// # Errors
    /// The program cannot be followed exactly.
    pub fn walk<T>(
        &mut self,
        region: &Region,
        mut visit: impl FnMut(&Region, u32) -> Result<Option<T>, Unprovable>,
    ) -> Result<Option<T>, Unprovable> {
        // The kernel clears A before the program starts.
        let mut open = vec![(0, Acc::Number(0), region.clone())];
        while let Some((mut at, mut acc, mut region)) = open.pop() {
            while let Some(ins) = self.program.get(at) {
                self.steps += 1;
                if self.steps > Self::BUDGET {
                    return Err(Unprovable::TooLong);
                }
                match ins.code {
                    // `check` has seen that the offset lies within the sixteen words.
                    LD => acc = Acc::Word { index: (ins.k / 4 % 16) as u8, mask: u32::MAX },
                    AND => acc = and(acc, ins.k),
                    JA => at += ins.k as usize,
                    RET => {
                        if let Some(found) = visit(&region, ins.k)? {
                            return Ok(Some(found));
                        }
                        break;
                    }
                    _ => {
                        let (to_yes, to_no) = (at + 1 + usize::from(ins.jt), at + 1 + usize::from(ins.jf));
                        if let Some(yes) = known(&region, acc, *ins) {
                            at = if yes { to_yes } else { to_no };
                            continue;
                        }
                        match split(&region, acc, *ins, at)? {
                            (Some(yes), Some(no)) => {
                                open.push((to_no, acc, no));
                                (at, region) = (to_yes, yes);
                            }
                            (Some(_), None) => at = to_yes,
                            (None, Some(_)) => at = to_no,
                            // A region is never empty, so one side holds.
                            (None, None) => return Err(TooComplex.into()),
                        }
                        continue;
                    }
                }
                at += 1;
            }
        }
        Ok(None)
    }

    /// The first part of `region` whose answer is not as `right` wants it, with that answer.
    ///
    /// # Errors
    /// The program cannot be followed exactly.
    pub fn exception(
        &mut self,
        region: &Region,
        right: impl Fn(u32) -> bool,
    ) -> Result<Option<(Region, u32)>, Unprovable> {
        self.walk(region, |part, ret| Ok((!right(ret)).then(|| (part.clone(), ret))))
    }
}

/// Does the kernel run a call that gets this answer? Anything that is not surely a refusal counts as yes.
pub fn lets_through(ret: u32) -> bool {
    const KILL_THREAD: u32 = 0;
    const TRAP: u32 = 0x0003_0000;
    const ERRNO: u32 = 0x0005_0000;
    let refusals = [Action::KillProcess.ret(), KILL_THREAD, TRAP, ERRNO, Action::Notify.ret()];
    !refusals.contains(&(ret & 0xffff_0000))
}

fn and(acc: Acc, k: u32) -> Acc {
    match acc {
        Acc::Number(n) => Acc::Number(n & k),
        Acc::Word { index, mask } => Acc::Word { index, mask: mask & k },
    }
}

/// The outcome of a comparison that is the same for the whole region, where that is seen at once.
fn known(region: &Region, acc: Acc, ins: SockFilter) -> Option<bool> {
    let k = ins.k;
    match (acc, ins.code) {
        (Acc::Number(n), JEQ) => Some(n == k),
        (Acc::Number(n), JGT) => Some(n > k),
        (Acc::Number(n), JGE) => Some(n >= k),
        (Acc::Number(n), _) => Some(n & k != 0),
        (Acc::Word { index, mask: u32::MAX }, JEQ) => region.known(index, |low, high| match (low, high) {
            (low, high) if low == high => Some(low == k),
            (low, high) if k < low || high < k => Some(false),
            _ => None,
        }),
        (Acc::Word { index, mask: u32::MAX }, JGT) => region.known(index, |low, high| match () {
            () if low > k => Some(true),
            () if high <= k => Some(false),
            () => None,
        }),
        (Acc::Word { index, mask: u32::MAX }, JGE) => region.known(index, |low, high| match () {
            () if low >= k => Some(true),
            () if high < k => Some(false),
            () => None,
        }),
        _ => None,
    }
}

/// The two parts of a region: where a jump is taken, and where not.
type Halves = (Option<Region>, Option<Region>);

/// Splits a region by a conditional jump.
fn split(region: &Region, acc: Acc, ins: SockFilter, at: usize) -> Result<Halves, Unprovable> {
    let k = ins.k;
    let Acc::Word { index, mask } = acc else {
        // A number's comparison is always known.
        return Err(TooComplex.into());
    };
    let at_least = |low: Option<u32>| -> Result<Halves, TooComplex> {
        let Some(low) = low else { return Ok((None, Some(region.clone()))) };
        let below = low.checked_sub(1).map_or(Ok(None), |high| region.between(index, 0, high))?;
        Ok((region.between(index, low, u32::MAX)?, below))
    };
    Ok(match ins.code {
        JEQ => (region.masked(index, mask, k, true)?, region.masked(index, mask, k, false)?),
        JSET => (region.masked(index, mask & k, 0, false)?, region.masked(index, mask & k, 0, true)?),
        JGE if mask == u32::MAX => at_least(Some(k))?,
        JGT if mask == u32::MAX => at_least(k.checked_add(1))?,
        _ => return Err(Unprovable::MaskedOrder(at)),
    })
}
