//! Sets of inputs, exactly: for each of the sixteen words of `seccomp_data` the values that it may have.
//!
//! A word's set is a union of intervals, cut by literals `word & mask == value` or `!= value`. Whether such a set is empty is
//! decided by search over the bits with a memory of dead ends, so the answer is exact; a set on which
//! the search would take too long is refused, never guessed.

use super::bpf::{Data, WORDS};
use std::collections::HashSet;

/// The set is too tangled to decide within the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the conditions are too tangled to be decided within the budget")]
pub struct TooComplex;

/// `word & mask == value`, or the opposite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Literal {
    mask: u32,
    value: u32,
    equal: bool,
}

impl Literal {
    /// Can no value meet both? Only what is seen at once, which is most of what occurs; the search finds the rest.
    fn excludes(self, other: Self) -> bool {
        let common = self.mask & other.mask;
        let differs = (self.value ^ other.value) & common != 0;
        match (self.equal, other.equal) {
            (true, true) => differs,
            (true, false) => common == other.mask && !differs,
            (false, true) => common == self.mask && !differs,
            (false, false) => false,
        }
    }
}

/// The values that one word may have. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Both ends included; ascending, disjoint.
    ranges: Vec<(u32, u32)>,
    literals: Vec<Literal>,
}

impl Word {
    /// The intervals, both ends included, ascending.
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// What the masked value is, or is not: mask, value, and whether they are equal.
    pub fn masks(&self) -> impl Iterator<Item = (u32, u32, bool)> + '_ {
        self.literals.iter().map(|literal| (literal.mask, literal.value, literal.equal))
    }

    fn full() -> Self {
        Self { ranges: vec![(0, u32::MAX)], literals: Vec::new() }
    }

    /// The part between two values, both included.
    fn between(&self, low: u32, high: u32) -> Result<Option<Self>, TooComplex> {
        let cut = self.ranges.iter().map(|(a, b)| (*a.max(&low), *b.min(&high)));
        self.with_ranges(cut.filter(|(a, b)| a <= b).collect())
    }

    /// The part within, or without, a sorted list of values.
    fn listed(&self, values: &[u32], inside: bool) -> Result<Option<Self>, TooComplex> {
        let mut ranges = Vec::new();
        for &(start, end) in &self.ranges {
            let mut next = Some(start);
            for &value in values.iter().filter(|v| (start..=end).contains(*v)) {
                if inside {
                    ranges.push((value, value));
                } else if let Some(from) = next.filter(|from| *from < value) {
                    ranges.push((from, value - 1));
                }
                next = value.checked_add(1);
            }
            if let Some(from) = next.filter(|from| !inside && *from <= end) {
                ranges.push((from, end));
            }
        }
        self.with_ranges(ranges)
    }

    fn with_ranges(&self, ranges: Vec<(u32, u32)>) -> Result<Option<Self>, TooComplex> {
        let word = Self { ranges, literals: self.literals.clone() };
        Ok(word.least()?.map(|_| word))
    }

    /// The part whose masked value is, or is not, this one.
    fn masked(&self, mask: u32, value: u32, equal: bool) -> Result<Option<Self>, TooComplex> {
        let literal = Literal { mask, value, equal };
        let mut word = self.clone();
        if word.literals.contains(&literal) {
            return Ok(Some(word));
        }
        word.literals.push(literal);
        Ok(word.least()?.map(|_| word))
    }

    /// The least value in the set.
    fn least(&self) -> Result<Option<u32>, TooComplex> {
        if self.literals.is_empty() {
            return Ok(self.ranges.first().map(|(low, _)| *low));
        }
        if self.literals.iter().enumerate().any(|(i, a)| self.literals.iter().take(i).any(|b| a.excludes(*b)))
        {
            return Ok(None);
        }
        for &(low, high) in &self.ranges {
            let mut search = Search { low, high, literals: &self.literals, dead: HashSet::new() };
            if let Some(value) = search.below(31, 0, true, true, 0)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

/// The search for the least value of an interval that meets all literals.
struct Search<'a> {
    low: u32,
    high: u32,
    literals: &'a [Literal],
    /// States from which nothing was found: the bit, whether the ends still bind, which literals are already unequal.
    dead: HashSet<(u8, bool, bool, u64)>,
}

impl Search<'_> {
    const BUDGET: usize = 1 << 16;

    /// Chooses the bits from `bit` down; `unequal` has a bit for each literal whose chosen bits already differ.
    fn below(
        &mut self,
        bit: u8,
        chosen: u32,
        at_low: bool,
        at_high: bool,
        unequal: u64,
    ) -> Result<Option<u32>, TooComplex> {
        if self.literals.len() > 64 || self.dead.len() > Self::BUDGET {
            return Err(TooComplex);
        }
        if !self.dead.is_empty() && self.dead.contains(&(bit, at_low, at_high, unequal)) {
            return Ok(None);
        }
        for one in [false, true] {
            let weight = 1u32 << bit;
            let (low_one, high_one) = (self.low & weight != 0, self.high & weight != 0);
            if (at_low && low_one && !one) || (at_high && !high_one && one) {
                continue;
            }
            let value = if one { chosen | weight } else { chosen };
            let Some(unequal) = self.step(weight, value, unequal) else { continue };
            let (at_low, at_high) = (at_low && low_one == one, at_high && high_one == one);
            let found = match bit {
                0 => Some(value),
                _ => self.below(bit - 1, value, at_low, at_high, unequal)?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        self.dead.insert((bit, at_low, at_high, unequal));
        Ok(None)
    }

    /// Which literals differ once this bit is chosen; nothing where one is broken by it.
    fn step(&self, weight: u32, value: u32, mut unequal: u64) -> Option<u64> {
        for (i, literal) in self.literals.iter().enumerate() {
            if literal.mask & weight != 0 && (literal.value ^ value) & weight != 0 {
                unequal |= 1 << i;
            }
            let differs = unequal & (1 << i) != 0;
            // With the mask's lowest bit chosen the comparison is settled.
            let settled = literal.mask & (weight - 1) == 0;
            let broken = if literal.equal { differs } else { settled && !differs };
            if broken {
                return None;
            }
        }
        Some(unequal)
    }
}

/// A set of inputs: the product of its words' sets. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Only the words that are narrowed, by index.
    words: Vec<(u8, Word)>,
}

/// A part of a region; nothing where it is empty.
pub type Part = Result<Option<Region>, TooComplex>;

impl Region {
    /// Whether a comparison of a word comes out the same for the whole set, as far as its intervals tell. Most
    /// comparisons do, and need no new set.
    pub fn known(&self, index: u8, holds_from: impl Fn(u32, u32) -> Option<bool>) -> Option<bool> {
        let place = self.words.binary_search_by_key(&index, |(i, _)| *i).ok()?;
        let (_, word) = self.words.get(place)?;
        let mut ranges = word.ranges.iter().map(|(low, high)| holds_from(*low, *high));
        let first = ranges.next().flatten()?;
        ranges.all(|next| next == Some(first)).then_some(first)
    }

    /// What one word may be; nothing where it may be anything.
    pub fn word(&self, index: u8) -> Option<&Word> {
        let place = self.words.binary_search_by_key(&index, |(i, _)| *i).ok()?;
        self.words.get(place).map(|(_, word)| word)
    }

    /// The set of one input.
    pub fn point(data: &Data) -> Self {
        let word = |value: u32| Word { ranges: vec![(value, value)], literals: Vec::new() };
        Self { words: (0u8..).zip(data.words).map(|(i, value)| (i, word(value))).collect() }
    }

    /// Every input.
    pub fn everything() -> Self {
        Self { words: Vec::new() }
    }

    fn narrowed(&self, index: u8, by: impl Fn(&Word) -> Result<Option<Word>, TooComplex>) -> Part {
        let place = self.words.binary_search_by_key(&index, |(i, _)| *i);
        let old = place.ok().and_then(|at| self.words.get(at));
        let Some(word) = (match old {
            Some((_, word)) => by(word)?,
            None => by(&Word::full())?,
        }) else {
            return Ok(None);
        };
        let mut region = self.clone();
        match place {
            Ok(at) => {
                if let Some(slot) = region.words.get_mut(at) {
                    slot.1 = word;
                }
            }
            Err(at) => region.words.insert(at, (index, word)),
        }
        Ok(Some(region))
    }

    /// The part where a word lies between two values, both included.
    pub fn between(&self, index: u8, low: u32, high: u32) -> Part {
        self.narrowed(index, |word| word.between(low, high))
    }

    /// The part where a word is one of these sorted values, or none of them.
    pub fn listed(&self, index: u8, values: &[u32], inside: bool) -> Part {
        self.narrowed(index, |word| word.listed(values, inside))
    }

    /// The part where `word & mask` is, or is not, `value`.
    pub fn masked(&self, index: u8, mask: u32, value: u32, equal: bool) -> Part {
        if value & !mask != 0 {
            return Ok((!equal).then(|| self.clone()));
        }
        match mask {
            0 => Ok(equal.then(|| self.clone())),
            u32::MAX => self.listed(index, &[value], equal),
            _ => self.narrowed(index, |word| word.masked(mask, value, equal)),
        }
    }

    /// Inputs at the set's edges, inside and just outside: the witness with one word at a time moved to each end of its
    /// intervals, to the neighbours of those, and over each bit of its masks. For tests that try a boundary for real.
    ///
    /// # Errors
    /// As [`Self::witness`].
    pub fn edges(&self) -> Result<Vec<Data>, TooComplex> {
        let witness = self.witness()?;
        let mut edges = vec![witness];
        for (index, word) in &self.words {
            let ends = word.ranges.iter().flat_map(|(low, high)| {
                [
                    *low,
                    *high,
                    low.wrapping_sub(1),
                    low.wrapping_add(1),
                    high.wrapping_sub(1),
                    high.wrapping_add(1),
                ]
            });
            let least = witness.words.get(usize::from(*index)).copied().unwrap_or(0);
            let bits = word.literals.iter().flat_map(|literal| {
                (0..32).map(|bit| 1 << bit).filter(|bit| literal.mask & bit != 0).map(move |bit| least ^ bit)
            });
            for value in ends.chain(bits) {
                let mut edge = witness;
                if let Some(slot) = edge.words.get_mut(usize::from(*index)) {
                    *slot = value;
                }
                edges.push(edge);
            }
        }
        Ok(edges)
    }

    /// One input of the set.
    ///
    /// # Errors
    /// A word's set cannot be decided.
    pub fn witness(&self) -> Result<Data, TooComplex> {
        let mut words = [0; WORDS];
        for (index, word) in &self.words {
            if let Some(slot) = words.get_mut(usize::from(*index)) {
                *slot = word.least()?.unwrap_or(0);
            }
        }
        Ok(Data { words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(region: &Region) -> u32 {
        region.witness().unwrap().words[3]
    }

    #[test]
    fn intervals_and_lists_cut_exactly() {
        let all = Region::everything();
        let low = all.between(3, 10, 20).unwrap().unwrap();
        assert_eq!(word(&low), 10);
        assert_eq!(word(&low.listed(3, &[10, 11, 13], false).unwrap().unwrap()), 12);
        assert_eq!(word(&low.listed(3, &[5, 15, 99], true).unwrap().unwrap()), 15);
        assert!(low.listed(3, &[5, 99], true).unwrap().is_none());
        let ends = all.listed(3, &[0, u32::MAX], false).unwrap().unwrap();
        assert_eq!(word(&ends), 1);
        assert!(ends.between(3, u32::MAX, u32::MAX).unwrap().is_none());
    }

    #[test]
    fn masks_cut_exactly() {
        let all = Region::everything();
        let odd = all.masked(3, 1, 1, true).unwrap().unwrap();
        assert!(odd.masked(3, 1, 0, true).unwrap().is_none());
        assert!(odd.masked(3, 1, 1, false).unwrap().is_none());
        assert_eq!(word(&odd.between(3, 100, 200).unwrap().unwrap()), 101);
        assert!(odd.between(3, 100, 100).unwrap().is_none());
    }

    #[test]
    fn a_contradiction_in_the_lowest_bits_is_found() {
        // Every pair of low bits is excluded: empty, though no single literal says so.
        let mut set = Some(Region::everything());
        for value in 0..4 {
            set = set.and_then(|s| s.masked(3, 3, value, false).unwrap());
        }
        assert!(set.is_none());
    }

    #[test]
    fn agrees_with_enumeration_on_every_small_set() {
        // All sets of up to two literals over four bits, cut to an interval, against brute force.
        let literals: Vec<(u32, u32, bool)> = (1..16)
            .flat_map(|mask| (0..16).filter(move |v| v & !mask == 0).map(move |v| (mask, v)))
            .flat_map(|(mask, value)| [(mask, value, true), (mask, value, false)])
            .collect();
        for (i, a) in literals.iter().enumerate() {
            for b in literals.iter().skip(i).step_by(7) {
                let holds = |x: u32| [a, b].iter().all(|(m, v, eq)| (x & m == *v) == *eq);
                let truth = (5..=11).find(|x| holds(*x));
                let set = Region::everything().between(3, 5, 11).unwrap();
                let set = set.and_then(|s| s.masked(3, a.0, a.1, a.2).unwrap());
                let set = set.and_then(|s| s.masked(3, b.0, b.1, b.2).unwrap());
                assert_eq!(set.as_ref().map(word), truth, "{a:?} {b:?}");
            }
        }
    }
}
