//! What a filter means: validated, immutable, without any BPF in it.

use super::syscalls::{Arg, Syscall};

/// An architecture whose programs we compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arch {
    /// 64-bit x86, without x32 and without i386.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

impl Arch {
    /// All of them, in the order in which tables and outputs list them.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// The architecture that this build is for. On one that is not ours every program of ours kills every call.
    pub const NATIVE: Self = if cfg!(target_arch = "aarch64") { Self::Aarch64 } else { Self::X86_64 };

    /// `AUDIT_ARCH_*` of `linux/audit.h`: what `seccomp_data.arch` holds.
    pub const fn audit(self) -> u32 {
        match self {
            Self::X86_64 => 0xc000_003e,
            Self::Aarch64 => 0xc000_00b7,
        }
    }

    /// From `seccomp_data.arch`.
    pub fn from_audit(arch: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|a| a.audit() == arch)
    }

    /// As the tables spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Index into per-architecture arrays.
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// The bit that marks an x32 number on `x86_64`; no call of ours has it on any architecture.
pub const X32_BIT: u32 = 0x4000_0000;

/// What becomes of a call. The order is strictness, as the kernel ranks the answers of stacked filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// The call runs.
    Allow,
    /// The supervisor is asked; it writes the attempt down and answers EPERM, never "continue".
    Notify,
    /// The call fails with this errno (1 to 4,095) at once, and nobody hears of it.
    Errno(u16),
    /// The whole process dies by SIGSYS.
    KillProcess,
}

impl Action {
    /// The value that a program returns (`SECCOMP_RET_*` and its data).
    pub const fn ret(self) -> u32 {
        match self {
            Self::Allow => 0x7fff_0000,
            Self::Notify => 0x7fc0_0000,
            Self::Errno(errno) => 0x0005_0000 | errno as u32,
            Self::KillProcess => 0x8000_0000,
        }
    }

    /// The action that a program's return value stands for, if it is one that we make.
    pub const fn from_ret(ret: u32) -> Option<Self> {
        match ret {
            0x7fff_0000 => Some(Self::Allow),
            0x7fc0_0000 => Some(Self::Notify),
            0x8000_0000 => Some(Self::KillProcess),
            _ if ret >> 16 == 5 && ret & 0xffff <= 4095 => Some(Self::Errno((ret & 0xffff) as u16)),
            _ => None,
        }
    }
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Allow => f.write_str("allow"),
            Self::Notify => f.write_str("notify (EPERM)"),
            Self::Errno(errno) => match super::constants::errno_name(*errno) {
                Some(name) => f.write_str(name),
                None => write!(f, "errno {errno}"),
            },
            Self::KillProcess => f.write_str("kill the process"),
        }
    }
}

/// A comparison of one argument, unsigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// `arg & mask` is one of these values (not empty, sorted, without doubles, each within the mask).
    In {
        /// All ones for a plain comparison.
        mask: u64,
        /// The values.
        values: Vec<u64>,
    },
    /// Different from the value.
    Ne(u64),
    /// Less than the value.
    Lt(u64),
    /// At most the value.
    Le(u64),
    /// More than the value.
    Gt(u64),
    /// At least the value.
    Ge(u64),
}

/// One argument's condition. Which bits count is the kernel's business: where it takes an `int`, the upper half of
/// the register is noise that it throws away, and so do we.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    pub(crate) index: u8,
    pub(crate) arg: Arg,
    pub(crate) test: Test,
}

impl Condition {
    /// The argument's place, 0 to 5.
    pub fn index(&self) -> u8 {
        self.index
    }

    /// The argument's name and width.
    pub fn arg(&self) -> &Arg {
        &self.arg
    }

    /// The comparison.
    pub fn test(&self) -> &Test {
        &self.test
    }

    /// Does this value of the argument's register meet the condition?
    pub fn holds(&self, register: u64) -> bool {
        let value = register & self.arg.width.mask();
        match &self.test {
            Test::In { mask, values } => values.contains(&(value & mask)),
            Test::Ne(v) => value != *v,
            Test::Lt(v) => value < *v,
            Test::Le(v) => value <= *v,
            Test::Gt(v) => value > *v,
            Test::Ge(v) => value >= *v,
        }
    }
}

/// One line of a filter: a call, when, what, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub(crate) call: Syscall,
    pub(crate) action: Action,
    /// All must hold; none: always.
    pub(crate) when: Vec<Condition>,
    pub(crate) group: String,
    pub(crate) reason: String,
    pub(crate) place: Place,
}

/// Where in which file a rule stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// `seccomp/default.json`, or the name that the caller gave.
    pub file: String,
    /// JSON pointer: `/groups/3/calls/14`.
    pub pointer: String,
    /// Line in the file, from 1; 0: not known.
    pub line: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{} ({})", self.file, self.line, self.pointer)
        } else {
            write!(f, "{} ({})", self.file, self.pointer)
        }
    }
}

impl Rule {
    /// The call that the rule is about.
    pub fn call(&self) -> &Syscall {
        &self.call
    }

    /// What becomes of it.
    pub fn action(&self) -> Action {
        self.action
    }

    /// The conditions, all of which must hold.
    pub fn when(&self) -> &[Condition] {
        &self.when
    }

    /// The group that it stands in.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Why; the group's reason where the line has none of its own.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// File, pointer and line.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Do these six registers meet all conditions?
    pub fn holds(&self, args: &[u64; 6]) -> bool {
        self.when.iter().all(|c| c.holds(args[usize::from(c.index)]))
    }
}

/// An action for what no rule is about, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    pub(crate) action: Action,
    pub(crate) reason: String,
}

impl Fallback {
    /// What becomes of the call.
    pub fn action(&self) -> Action {
        self.action
    }

    /// Why.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// A whole filter.
///
/// A call that no rule names gets `default`. A call that is named gets the strictest action among its rules that hold, and
/// `mismatch` where none does. Another architecture and x32 numbers are killed whatever the rules say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) default: Fallback,
    pub(crate) mismatch: Fallback,
    /// Sorted by call name; the rules of one call by falling strictness, then as in the file.
    pub(crate) rules: Vec<Rule>,
    pub(crate) guarantees: Vec<String>,
}

impl Filter {
    /// `default`, or the file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the file says of itself.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// For numbers that no rule names.
    pub fn default_action(&self) -> &Fallback {
        &self.default
    }

    /// For calls that are named, with arguments that no rule of theirs takes.
    pub fn mismatch_action(&self) -> &Fallback {
        &self.mismatch
    }

    /// All rules, sorted by call name, those of one call by falling strictness.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The sentences that must be provable of the compiled program.
    pub fn guarantees(&self) -> &[String] {
        &self.guarantees
    }

    /// The rules of one call, strictest first.
    pub fn rules_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Rule> {
        self.rules.iter().filter(move |r| r.call.name == name)
    }

    /// The calls that the rules name and that exist on `arch`, by rising number, each with its rules.
    pub fn calls_on(&self, arch: Arch) -> Vec<(u32, &[Rule])> {
        let mut calls: Vec<(u32, &[Rule])> = self
            .rules
            .chunk_by(|a, b| a.call.name == b.call.name)
            .filter_map(|rules| Some((rules.first()?.call.number(arch)?, rules)))
            .collect();
        calls.sort_unstable_by_key(|(nr, _)| *nr);
        calls
    }

    /// What the file says of one call: the rule that decides (none: a fallback does) and the action. This is the
    /// meaning of the file itself; that the program does the same is what the prover shows.
    pub fn decide(&self, arch: Arch, nr: u32, args: &[u64; 6]) -> (Option<&Rule>, Action) {
        if arch == Arch::X86_64 && nr >= X32_BIT {
            return (None, Action::KillProcess);
        }
        let mut named = false;
        for rule in self.rules.iter().filter(|r| r.call.number(arch) == Some(nr)) {
            named = true;
            if rule.holds(args) {
                return (Some(rule), rule.action);
            }
        }
        (None, if named { self.mismatch.action } else { self.default.action })
    }
}
