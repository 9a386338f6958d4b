//! The front end: a JSON file to a validated [`Filter`]. Knows no BPF.
//!
//! Anything doubtful is an error here: an unknown name, an empty list, an empty reason, a call that is listed twice with
//! and without arguments. What is accepted means exactly one thing.

pub(crate) mod lines;
mod raw;
#[cfg(test)]
mod tests;
pub(crate) mod values;

use super::constants;
use super::error::{FilterError, did_you_mean, near};
use super::filter::{Action, Fallback, Filter, Place, Rule};
use super::syscalls::{Syscall, Table};
use raw::{RawCall, RawEntry, RawFallback, RawFilter, RawGroup};

/// Finds the text of a filter that another one builds upon (shipped ones only), by name. A base has none itself, so
/// that a reader needs two files at most.
pub type Bases<'a> = &'a dyn Fn(&str) -> Option<&'a str>;

/// A filter of half that size would already not fit the kernel's limit of instructions.
const MAX_BYTES: usize = 1 << 20;

/// Reads and validates a filter.
///
/// `file` is only for messages. `bases` gives the text of the filters that may be built upon.
///
/// # Errors
/// What is wrong with the file, where and why; the fault of whoever wrote it.
pub fn parse(file: &str, text: &str, bases: Bases) -> Result<Filter, FilterError> {
    let reader = Reader::new(file, text)?;
    let raw = reader.raw(text)?;
    let mut parts = match &raw.base {
        None => Parts::default(),
        Some(base) => {
            let (path, text) = reader.base(base, bases)?;
            let below = Reader::new(&path, text)?;
            let raw = below.raw(text)?;
            if raw.base.is_some() {
                return Err(below.wrong("/base", "a base may not have a base of its own", None));
            }
            below.parts(&raw, Parts::default())?
        }
    };
    parts = reader.parts(&raw, parts)?;
    let (Some(default), Some(mismatch)) = (parts.default, parts.mismatch) else {
        return Err(reader.wrong(
            "",
            "`default` and `mismatch` are required: what becomes of calls that nothing here is about",
            Some("for numbers nobody lists `errno` ENOSYS, for other arguments `notify`".to_owned()),
        ));
    };
    let mut rules = parts.rules;
    rules.sort_by(|a, b| (&a.call.name, b.action).cmp(&(&b.call.name, a.action)));
    let name = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".json").to_owned();
    Ok(Filter { name, about: raw.about, default, mismatch, rules, guarantees: parts.guarantees })
}

/// What has been read so far: the base's, then the file's own.
#[derive(Default)]
struct Parts {
    default: Option<Fallback>,
    mismatch: Option<Fallback>,
    rules: Vec<Rule>,
    guarantees: Vec<String>,
}

struct Reader<'a> {
    file: &'a str,
    lines: lines::Lines,
}

impl<'a> Reader<'a> {
    fn new(file: &'a str, text: &str) -> Result<Self, FilterError> {
        let reader = Self { file, lines: lines::Lines::default() };
        if text.len() > MAX_BYTES {
            return Err(reader.wrong("", &format!("{} bytes are more than {MAX_BYTES}", text.len()), None));
        }
        Ok(Self { file, lines: lines::Lines::of(text) })
    }

    fn raw(&self, text: &str) -> Result<RawFilter, FilterError> {
        let raw: RawFilter = serde_json::from_str(text)
            .map_err(|source| FilterError::Syntax { file: self.file.to_owned(), source })?;
        if raw.version != 1 {
            return Err(FilterError::Version { file: self.file.to_owned(), found: raw.version });
        }
        Ok(raw)
    }

    fn base<'b>(&self, base: &str, bases: Bases<'b>) -> Result<(String, &'b str), FilterError> {
        match bases(base) {
            Some(text) => Ok((format!("seccomp/{base}.json"), text)),
            None => Err(self.wrong(
                "/base",
                &format!("there is no shipped filter {base:?} to build upon"),
                Some("the shipped filters are those in seccomp/".to_owned()),
            )),
        }
    }

    fn parts(&self, raw: &RawFilter, mut parts: Parts) -> Result<Parts, FilterError> {
        if let Some(fallback) = &raw.default {
            parts.default = Some(self.fallback("/default", fallback)?);
        }
        if let Some(fallback) = &raw.mismatch {
            parts.mismatch = Some(self.fallback("/mismatch", fallback)?);
        }
        if raw.groups.is_empty() && raw.without.is_empty() {
            let hint = "a filter lists what it is about; one that lists nothing allows nothing".to_owned();
            return Err(self.wrong("/groups", "there is no group", Some(hint)));
        }
        let removed = self.without(raw, &mut parts.rules)?;
        for (g, group) in raw.groups.iter().enumerate() {
            if raw.groups.iter().take(g).any(|other| other.group == group.group) {
                let what = format!("the group {:?} is there twice", group.group);
                return Err(self.wrong(&format!("/groups/{g}"), &what, None));
            }
            self.group(g, group, &mut parts.rules)?;
        }
        for rule in removed {
            if !parts.rules.iter().any(|r| r.call.name == rule.call.name) {
                parts.rules.push(rule);
            }
        }
        for (i, entry) in raw.without_guarantees.iter().enumerate() {
            let at = format!("/without_guarantees/{i}");
            self.filled(&at, "the reason", &entry.reason)?;
            let before = parts.guarantees.len();
            parts.guarantees.retain(|sentence| *sentence != entry.guarantee);
            if parts.guarantees.len() == before {
                let what = format!("the base has no guarantee {:?}", entry.guarantee);
                return Err(self.wrong(&at, &what, None));
            }
        }
        for (i, sentence) in raw.guarantees.iter().enumerate() {
            self.filled(&format!("/guarantees/{i}"), "a guarantee", sentence)?;
            parts.guarantees.push(sentence.clone());
        }
        Ok(parts)
    }

    fn fallback(&self, at: &str, raw: &RawFallback) -> Result<Fallback, FilterError> {
        self.filled(at, "the reason", &raw.reason)?;
        let action = self.action(at, &raw.action, raw.errno.as_deref())?;
        if action == Action::Allow {
            let what = "what nobody thought of cannot be allowed".to_owned();
            return Err(self.wrong(at, &what, Some("list what is to be allowed".to_owned())));
        }
        Ok(Fallback { action, reason: raw.reason.clone() })
    }

    /// Takes the base's rules of the calls under `without` away, and gives the denials that stand in for them.
    fn without(&self, raw: &RawFilter, rules: &mut Vec<Rule>) -> Result<Vec<Rule>, FilterError> {
        let mut removed = Vec::new();
        for (i, entry) in raw.without.iter().enumerate() {
            let at = format!("/without/{i}");
            let call = self.call(&at, &entry.call)?;
            self.filled(&at, "the reason", &entry.reason)?;
            let before = rules.len();
            rules.retain(|r| r.call.name != entry.call);
            if rules.len() == before {
                let what = format!("the base has no rule for {} (or it is listed here twice)", entry.call);
                return Err(self.wrong(&at, &what, None));
            }
            removed.push(Rule {
                call: call.clone(),
                action: Action::Notify,
                when: Vec::new(),
                group: "without".to_owned(),
                reason: entry.reason.clone(),
                place: self.place(&at),
            });
        }
        Ok(removed)
    }

    fn group(&self, g: usize, group: &RawGroup, rules: &mut Vec<Rule>) -> Result<(), FilterError> {
        let at = format!("/groups/{g}");
        self.filled(&at, "the group's name", &group.group)?;
        self.filled(&at, "the group's reason", &group.reason)?;
        if group.calls.is_empty() {
            return Err(self.wrong(&at, &format!("the group {:?} lists no call", group.group), None));
        }
        for (c, entry) in group.calls.iter().enumerate() {
            let rule = self.rule(&format!("{at}/calls/{c}"), group, entry)?;
            Self::once(&rule, rules)?;
            rules.push(rule);
        }
        Ok(())
    }

    fn rule(&self, at: &str, group: &RawGroup, entry: &RawEntry) -> Result<Rule, FilterError> {
        let bare;
        let raw = match entry {
            RawEntry::Full(raw) => raw,
            RawEntry::Bare(name) => {
                bare = RawCall { call: name.clone(), ..RawCall::default() };
                &bare
            }
        };
        let call = self.call(at, &raw.call)?;
        let errno = raw.errno.as_deref().or(group.errno.as_deref());
        let action = self.action(at, &group.action, errno)?;
        let reason = match &raw.reason {
            Some(reason) => {
                self.filled(at, "the reason", reason)?;
                reason
            }
            None if matches!(action, Action::Notify | Action::KillProcess) => &group.reason,
            None => {
                let what = format!(
                    "{} has no reason of its own, and what is answered without asking needs one",
                    raw.call
                );
                return Err(self.wrong(
                    at,
                    &what,
                    Some("add \"reason\": who needs the call, and for what".to_owned()),
                ));
            }
        };
        let when = match &raw.when {
            None => Vec::new(),
            Some(list) if list.is_empty() => {
                let what = "`when` is empty: does it hold always or never?";
                return Err(self.wrong(at, what, Some("leave `when` out for any arguments".to_owned())));
            }
            Some(list) => {
                let conditions = list.iter().enumerate();
                conditions
                    .map(|(i, c)| {
                        values::condition(call, c)
                            .map_err(|(what, hint)| self.wrong(&format!("{at}/when/{i}"), &what, hint))
                    })
                    .collect::<Result<_, _>>()?
            }
        };
        Ok(Rule {
            call: call.clone(),
            action,
            when,
            group: group.group.clone(),
            reason: reason.clone(),
            place: self.place(at),
        })
    }

    /// Refuses a second rule for the same call whose meaning beside the first would be a guess.
    fn once(rule: &Rule, rules: &[Rule]) -> Result<(), FilterError> {
        for other in rules.iter().filter(|r| r.call.name == rule.call.name) {
            let how = match (rule.when.is_empty(), other.when.is_empty()) {
                (false, false) if rule.when == other.when => "with the same conditions",
                (false, false) => continue,
                (true, true) => "without conditions",
                _ => "with and without conditions",
            };
            let what = format!("{} is listed twice {how}; the other is at {}", rule.call.name, other.place);
            let hint = "keep one; to replace a rule of the base name the call under `without`".to_owned();
            return Err(FilterError::Invalid { place: rule.place.clone(), what, hint: Some(hint) });
        }
        Ok(())
    }

    fn call(&self, at: &str, name: &str) -> Result<&'static Syscall, FilterError> {
        let table = Table::builtin();
        table.named(name).ok_or_else(|| {
            let what = format!("no architecture has a system call {name:?}");
            self.wrong(at, &what, did_you_mean(&table.near(name)))
        })
    }

    fn action(&self, at: &str, action: &str, errno: Option<&str>) -> Result<Action, FilterError> {
        let plain = match action {
            "allow" => Action::Allow,
            "notify" => Action::Notify,
            "kill_process" => Action::KillProcess,
            "errno" => {
                let Some(name) = errno else {
                    return Err(self.wrong(at, "the action errno needs an `errno`", None));
                };
                return constants::errno(name).map(Action::Errno).ok_or_else(|| {
                    let hint = did_you_mean(&near(name, constants::errno_names()));
                    self.wrong(at, &format!("{name:?} is no errno that a filter may answer with"), hint)
                });
            }
            other => {
                let hint = "actions: allow, errno, notify, kill_process".to_owned();
                return Err(self.wrong(at, &format!("there is no action {other:?}"), Some(hint)));
            }
        };
        match errno {
            Some(_) => Err(self.wrong(at, &format!("`errno` does not go with the action {action}"), None)),
            None => Ok(plain),
        }
    }

    fn filled(&self, at: &str, what: &str, text: &str) -> Result<(), FilterError> {
        if text.trim().is_empty() { Err(self.wrong(at, &format!("{what} is empty"), None)) } else { Ok(()) }
    }

    fn place(&self, pointer: &str) -> Place {
        Place { file: self.file.to_owned(), pointer: pointer.to_owned(), line: self.lines.line(pointer) }
    }

    fn wrong(&self, pointer: &str, what: &str, hint: Option<String>) -> FilterError {
        FilterError::Invalid { place: self.place(pointer), what: what.to_owned(), hint }
    }
}
