//! Filters that are ready to be installed.

use super::bpf::SockFilter;
use super::error::FilterError;
use super::filter::{Action, Arch, Filter, Place};
use super::{json, syscalls};
use std::borrow::Cow;
use std::sync::OnceLock;

/// What the build made and proved of one file in `seccomp/`.
struct Baked {
    name: &'static str,
    source: &'static str,
    programs: [&'static [SockFilter]; Arch::ALL.len()],
    digests: [&'static str; Arch::ALL.len()],
}

#[allow(clippy::unreadable_literal, reason = "written by the build script")]
mod baked {
    use super::{Baked, SockFilter};
    include!(concat!(env!("OUT_DIR"), "/filters.rs"));
}
use baked::BAKED;

/// A filter with its proven programs.
#[derive(Debug)]
pub struct Compiled {
    file: String,
    source: Cow<'static, str>,
    programs: [Cow<'static, [SockFilter]>; Arch::ALL.len()],
    digests: [Cow<'static, str>; Arch::ALL.len()],
    /// The meaning, read again where somebody asks for it: a run without denials never does.
    meaning: OnceLock<Result<Filter, String>>,
}

/// What a filter says of one call: for the list of denials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The call's name, if the table knows the number.
    pub name: Option<&'static str>,
    /// What became of it.
    pub action: Action,
    /// The group of the rule that decided; none: a fallback decided.
    pub group: Option<String>,
    /// Why.
    pub reason: String,
    /// Where the rule stands; none: a fallback decided.
    pub place: Option<Place>,
}

/// The names of the shipped filters, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    BAKED.iter().map(|b| b.name)
}

/// The text of a shipped filter, as it stands in the repository.
pub fn source_of(name: &str) -> Option<&'static str> {
    BAKED.iter().find(|b| b.name == name).map(|b| b.source)
}

/// A shipped filter, compiled and proven when this program was built.
pub fn shipped(name: &str) -> Option<Compiled> {
    let baked = BAKED.iter().find(|b| b.name == name)?;
    Some(Compiled {
        file: format!("seccomp/{name}.json"),
        source: Cow::Borrowed(baked.source),
        programs: baked.programs.map(Cow::Borrowed),
        digests: baked.digests.map(Cow::Borrowed),
        meaning: OnceLock::new(),
    })
}

/// Reads, compiles and proves a filter of the user's; `file` is its name in messages. It may build upon a shipped one.
///
/// # Errors
/// The file is wrong, or what it was compiled to could not be proven.
#[cfg(feature = "review")]
pub fn load(file: &str, text: &str) -> Result<Compiled, FilterError> {
    let filter = json::parse(file, text, &source_of)?;
    let programs = super::verify::build(file, &filter)?;
    Ok(Compiled {
        file: file.to_owned(),
        source: Cow::Owned(text.to_owned()),
        digests: programs.each_ref().map(|p| Cow::Owned(super::bpf::digest(p))),
        programs: programs.map(Cow::Owned),
        meaning: OnceLock::from(Ok(filter)),
    })
}

impl Compiled {
    /// The program for the machine that this build is for.
    pub fn program(&self) -> &[SockFilter] {
        self.program_for(Arch::NATIVE)
    }

    /// The program for an architecture.
    pub fn program_for(&self, arch: Arch) -> &[SockFilter] {
        &self.programs[arch.index()]
    }

    /// sha256 of the native program's bytes, in hex.
    pub fn digest(&self) -> &str {
        &self.digests[Arch::NATIVE.index()]
    }

    /// The file as it was read.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The file's name.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Does any call go to a supervisor, so that a listener is needed? Without one such a call fails with ENOSYS.
    pub fn notify(&self) -> bool {
        self.program().iter().any(|ins| ins.code == super::bpf::RET && ins.k == Action::Notify.ret())
    }

    /// What the file means.
    ///
    /// # Errors
    /// The file cannot be read, which is our fault: it was read before.
    pub fn filter(&self) -> Result<&Filter, &str> {
        let read =
            || json::parse(&self.file, &self.source, &source_of).map_err(|e: FilterError| e.to_string());
        self.meaning.get_or_init(read).as_ref().map_err(String::as_str)
    }

    /// What the file says of a call on this machine.
    pub fn lookup(&self, nr: u32, args: &[u64; 6]) -> Option<Listed> {
        let filter = self.filter().ok()?;
        let (rule, action) = filter.decide(Arch::NATIVE, nr, args);
        let name = syscalls::name(Arch::NATIVE, nr);
        let named = name.is_some_and(|n| filter.rules_of(n).next().is_some());
        let fallback = if named { filter.mismatch_action() } else { filter.default_action() };
        Some(Listed {
            name,
            action,
            group: rule.map(|r| r.group().to_owned()),
            reason: rule.map_or(fallback.reason(), super::filter::Rule::reason).to_owned(),
            place: rule.map(|r| r.place().clone()),
        })
    }
}
