//! Names and numbers of system calls, from `seccomp/syscalls.json`.

use super::filter::Arch;
use serde::Deserialize;
use std::sync::OnceLock;

/// The table as it stands in the repository.
pub const SOURCE: &str = include_str!("../../seccomp/syscalls.json");

/// How many bits of an argument's register the kernel reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Width {
    /// `int`, `unsigned int` and the id types: the lower half.
    W32,
    /// Pointers, `long`, `size_t`, offsets.
    W64,
}

impl Width {
    /// The bits that count.
    pub const fn mask(self) -> u64 {
        match self {
            Self::W32 => 0xffff_ffff,
            Self::W64 => u64::MAX,
        }
    }
}

/// One argument of a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Arg {
    /// As in the manual page.
    pub name: String,
    /// Bits that count.
    pub width: Width,
    /// Is it an address (whose value says nothing to a reader)?
    pub pointer: bool,
}

/// One system call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Syscall {
    /// The kernel's name.
    pub name: String,
    numbers: [Option<u32>; Arch::ALL.len()],
    /// The release that brought it; none: before 3.14.
    pub since: Option<(u8, u8)>,
    /// The arguments; none: not written down in the table.
    pub args: Option<Vec<Arg>>,
}

impl Syscall {
    /// Its number on an architecture; none: it is not there.
    pub fn number(&self, arch: Arch) -> Option<u32> {
        self.numbers.get(arch.index()).copied().flatten()
    }
}

/// All calls that we know.
#[derive(Debug, Default)]
pub struct Table {
    calls: Vec<Syscall>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    #[serde(rename = "about")]
    _about: String,
    #[serde(rename = "release")]
    _release: String,
    calls: Vec<RawCall>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCall {
    name: String,
    x86_64: Option<u32>,
    aarch64: Option<u32>,
    since: Option<String>,
    args: Option<String>,
}

impl Table {
    /// The table of this build. It holds nothing, and so every name is unknown, if its own data could not be
    /// read; a test shows that they can.
    pub fn builtin() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| Self::parse(SOURCE).unwrap_or_default())
    }

    /// Reads a table.
    ///
    /// # Errors
    /// The text is not a table: our own fault, since it is compiled in.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let raw: RawTable = serde_json::from_str(text)?;
        Ok(Self { calls: raw.calls.into_iter().map(Syscall::from).collect() })
    }

    /// All calls, as the table lists them.
    pub fn calls(&self) -> &[Syscall] {
        &self.calls
    }

    /// By name.
    pub fn named(&self, name: &str) -> Option<&Syscall> {
        self.calls.iter().find(|c| c.name == name)
    }

    /// By number.
    pub fn numbered(&self, arch: Arch, nr: u32) -> Option<&Syscall> {
        self.calls.iter().find(|c| c.number(arch) == Some(nr))
    }

    /// The known names that look like this one, best first, at most three.
    pub fn near(&self, name: &str) -> Vec<&str> {
        super::error::near(name, self.calls.iter().map(|c| c.name.as_str()))
    }
}

/// The name of a number, if we know it.
pub fn name(arch: Arch, nr: u32) -> Option<&'static str> {
    Table::builtin().numbered(arch, nr).map(|c| c.name.as_str())
}

impl From<RawCall> for Syscall {
    fn from(raw: RawCall) -> Self {
        let since = raw.since.as_deref().and_then(|s| s.split_once('.'));
        Self {
            name: raw.name,
            numbers: [raw.x86_64, raw.aarch64],
            since: since.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?))),
            args: raw.args.as_deref().map(arguments),
        }
    }
}

/// `int fd, const void *buf` to names and widths.
fn arguments(text: &str) -> Vec<Arg> {
    text.split(',')
        .map(str::trim)
        .filter(|a| !a.is_empty())
        .map(|declaration| {
            let at = declaration.rfind([' ', '*']).map_or(0, |i| i + 1);
            let (kind, name) = declaration.split_at(at);
            let pointer = kind.contains('*');
            let kind = kind.trim();
            let width = if !pointer && INTS.contains(&kind) { Width::W32 } else { Width::W64 };
            Arg { name: name.to_owned(), width, pointer }
        })
        .collect()
}

/// Types of which the kernel reads 32 bits or fewer.
const INTS: &[&str] = &["int", "unsigned int", "mode_t", "pid_t", "uid_t", "gid_t", "key_t", "timer_t"];
