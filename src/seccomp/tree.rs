//! The back end that is installed: one program, mixed actions, a balanced tree over the numbers.
//!
//! Jumps of classic BPF go forward only, so the program is written from its end: whatever an instruction jumps to is
//! there already and its distance known. Returns are shared while they are in reach of a jump's eight bits.

use super::bpf::{AND, ARCH, JA, JEQ, JGE, JGT, LD, MAX_LEN, NR, RET, SockFilter, arg_hi, arg_lo};
use super::filter::{Action, Arch, Condition, Filter, Rule, Test, X32_BIT};
use super::syscalls::Width;

/// A place in the program, counted from its end.
type Label = usize;

/// Compiles a filter for one architecture.
///
/// # Errors
/// The program would be longer than the kernel takes.
pub fn compile(filter: &Filter, arch: Arch) -> Result<Vec<SockFilter>, String> {
    let mut asm = Assembler::default();
    let ranges = ranges(filter, arch);
    let body = asm.ranges(filter, &ranges);
    let load_nr = asm.load(NR, body);
    let foreign = asm.ret(Action::KillProcess);
    let check = asm.jump(JEQ, arch.audit(), load_nr, foreign);
    asm.load(ARCH, check);
    let mut program = asm.code;
    program.reverse();
    if program.len() > MAX_LEN {
        return Err(format!("{} instructions; the kernel takes {MAX_LEN}", program.len()));
    }
    Ok(program)
}

/// What becomes of the numbers from `first` to the next range.
struct Range<'a> {
    first: u32,
    then: Then<'a>,
}

#[derive(PartialEq, Clone, Copy)]
enum Then<'a> {
    Do(Action),
    Look(&'a [Rule]),
}

/// The numbers by what becomes of them; covers all of them, neighbours with the same fate merged.
fn ranges(filter: &Filter, arch: Arch) -> Vec<Range<'_>> {
    let default = Then::Do(filter.default_action().action());
    let mut all = vec![Range { first: 0, then: default }];
    let mut push = |first: u32, then| {
        if all.last().is_some_and(|last| last.first == first) {
            all.pop();
        }
        if all.last().is_none_or(|last| last.then != then) {
            all.push(Range { first, then });
        }
    };
    for (nr, rules) in filter.calls_on(arch) {
        let then = match rules {
            [rule] if rule.when().is_empty() => Then::Do(rule.action()),
            rules => Then::Look(rules),
        };
        push(nr, then);
        push(nr + 1, default);
    }
    if arch == Arch::X86_64 {
        push(X32_BIT, Then::Do(Action::KillProcess));
    }
    all
}

#[derive(Default)]
struct Assembler {
    /// The program, last instruction first.
    code: Vec<SockFilter>,
}

impl Assembler {
    fn push(&mut self, code: u16, jt: u8, jf: u8, k: u32) -> Label {
        self.code.push(SockFilter { code, jt, jf, k });
        self.code.len() - 1
    }

    /// Instructions between the next one to be written and a label.
    fn distance(&self, label: Label) -> usize {
        self.code.len() - 1 - label
    }

    /// The nearest return of an action, a new one where none is close.
    fn ret(&mut self, action: Action) -> Label {
        // Far enough to share, near enough that the jumps which are written next still reach it.
        const NEAR: usize = 200;
        let wanted = SockFilter { code: RET, jt: 0, jf: 0, k: action.ret() };
        let found = self.code.iter().rev().take(NEAR).position(|ins| *ins == wanted);
        match found {
            Some(back) => self.code.len() - 1 - back,
            None => self.push(RET, 0, 0, action.ret()),
        }
    }

    /// A label that a conditional jump reaches: the same, or a stepping stone to it.
    fn reachable(&mut self, label: Label, room: usize) -> Label {
        if u8::try_from(self.distance(label) + room).is_ok() {
            return label;
        }
        match self.code.get(label) {
            Some(ins) if ins.code == RET => {
                let ret = *ins;
                self.push(ret.code, 0, 0, ret.k)
            }
            _ => {
                let far = u32::try_from(self.distance(label)).unwrap_or(u32::MAX);
                self.push(JA, 0, 0, far)
            }
        }
    }

    fn jump(&mut self, code: u16, k: u32, yes: Label, no: Label) -> Label {
        if yes == no {
            return yes;
        }
        // Making one reachable may write an instruction and push the other further away: one of room.
        let yes = self.reachable(yes, 1);
        let no = self.reachable(no, 0);
        let jt = u8::try_from(self.distance(yes)).unwrap_or(u8::MAX);
        let jf = u8::try_from(self.distance(no)).unwrap_or(u8::MAX);
        self.push(code, jt, jf, k)
    }

    /// `A = word at offset`, then on to `next`.
    fn load(&mut self, offset: u32, next: Label) -> Label {
        self.fall_through(next);
        self.push(LD, 0, 0, offset)
    }

    /// Makes `next` what follows the instruction to be written.
    fn fall_through(&mut self, next: Label) {
        match self.distance(next) {
            0 => {}
            far => {
                let far = u32::try_from(far).unwrap_or(u32::MAX);
                self.push(JA, 0, 0, far);
            }
        }
    }

    /// The tree over the numbers, `A` holding one.
    fn ranges(&mut self, filter: &Filter, ranges: &[Range]) -> Label {
        match ranges {
            [] => self.ret(Action::KillProcess),
            [range] => match range.then {
                Then::Do(action) => self.ret(action),
                Then::Look(rules) => self.rules(filter, rules),
            },
            _ => {
                let (low, high) = ranges.split_at(ranges.len() / 2);
                let first = high.first().map_or(0, |r| r.first);
                let yes = self.ranges(filter, high);
                let no = self.ranges(filter, low);
                self.jump(JGE, first, yes, no)
            }
        }
    }

    /// The rules of one call, tried in order, strictest first.
    fn rules(&mut self, filter: &Filter, rules: &[Rule]) -> Label {
        let mut next = self.ret(filter.mismatch_action().action());
        for rule in rules.iter().rev() {
            let mut label = self.ret(rule.action());
            for condition in rule.when().iter().rev() {
                label = self.condition(condition, label, next);
            }
            next = label;
        }
        next
    }

    fn condition(&mut self, condition: &Condition, yes: Label, no: Label) -> Label {
        let wide = condition.arg().width == Width::W64;
        let index = condition.index();
        match condition.test() {
            Test::In { mask, values } => self.members(index, wide, *mask, values, yes, no),
            Test::Ne(v) => self.members(index, wide, u64::MAX, &[*v], no, yes),
            Test::Gt(v) => self.above(index, wide, JGT, *v, yes, no),
            Test::Ge(v) => self.above(index, wide, JGE, *v, yes, no),
            Test::Le(v) => self.above(index, wide, JGT, *v, no, yes),
            Test::Lt(v) => self.above(index, wide, JGE, *v, no, yes),
        }
    }

    /// `A > v` or `A >= v` on one or two halves.
    fn above(&mut self, index: u8, wide: bool, code: u16, v: u64, yes: Label, no: Label) -> Label {
        let low = self.jump(code, low(v), yes, no);
        let low = self.load(arg_lo(index), low);
        if !wide {
            return low;
        }
        // What is not above 0 is 0: one comparison less for every small value.
        let equal = if high(v) == 0 { low } else { self.jump(JEQ, high(v), low, no) };
        let above = self.jump(JGT, high(v), yes, equal);
        self.load(arg_hi(index), above)
    }

    /// `A & mask` is one of `values` (sorted): the upper halves one after another, then the lower ones.
    fn members(&mut self, index: u8, wide: bool, mask: u64, values: &[u64], yes: Label, no: Label) -> Label {
        let halves: Vec<&[u64]> = values.chunk_by(|a, b| high(*a) == high(*b)).collect();
        let mut next = no;
        let look_high = wide && high(mask) != 0;
        for group in halves.into_iter().rev() {
            let mut label = yes;
            if low(mask) != 0 {
                label = self.chain(group, yes, no);
                label = self.masked(arg_lo(index), low(mask), label);
            }
            next = if look_high {
                self.jump(JEQ, group.first().map_or(0, |v| high(*v)), label, next)
            } else {
                label
            };
        }
        if look_high { self.masked(arg_hi(index), high(mask), next) } else { next }
    }

    /// `A` is the lower half of one of `values`: singles by equality, runs by their ends.
    fn chain(&mut self, values: &[u64], yes: Label, no: Label) -> Label {
        let mut next = no;
        for run in values.chunk_by(|a, b| a + 1 == *b).rev() {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            if run.len() > 2 {
                let end = self.jump(JGT, low(*last), next, yes);
                next = self.jump(JGE, low(*first), end, next);
            } else {
                for value in run.iter().rev() {
                    next = self.jump(JEQ, low(*value), yes, next);
                }
            }
        }
        next
    }

    fn masked(&mut self, offset: u32, mask: u32, next: Label) -> Label {
        if mask == u32::MAX {
            return self.load(offset, next);
        }
        self.fall_through(next);
        let and = self.push(AND, 0, 0, mask);
        self.load(offset, and)
    }
}

fn low(value: u64) -> u32 {
    (value & 0xffff_ffff) as u32
}

fn high(value: u64) -> u32 {
    (value >> 32) as u32
}
