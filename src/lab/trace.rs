//! What a filter would need for a program: its denied calls, let through and written down.

use crate::notify::denials::{Denial, Denials};
use crate::seccomp::bpf::{RET, SockFilter};
use crate::seccomp::syscalls::{Arg, Table};
use crate::seccomp::{Action, Arch, Compiled};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How many distinct denials are kept, whatever the policy says.
pub const KEPT: u64 = 4096;
/// An argument with more different values than this is given no condition.
const VALUES: usize = 8;

/// What is let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// What is written down as a denial.
    Denied,
    /// That, and what fails with an errno at once.
    All,
}

/// A call that the filter does not allow as the program made it.
#[derive(Debug, Serialize)]
pub struct Need {
    /// The call's name, or its number.
    pub call: String,
    /// How often it was made.
    pub count: u64,
    /// What the filter does with it.
    pub action: String,
    /// The filter's reason.
    pub reason: String,
    /// The group of the filter's rule, if one decided.
    pub group: Option<String>,
    /// FILE:LINE of that rule.
    pub place: Option<String>,
    /// The entry that would allow exactly what was seen. Its reason is for a person to write.
    pub entry: Value,
}

/// The filter's program with its denials turned into notifications; another architecture still dies.
pub fn program(filter: &Compiled, mode: Mode) -> Vec<SockFilter> {
    let mut program = filter.program().to_vec();
    for instruction in program.iter_mut().filter(|instruction| instruction.code == RET) {
        if mode == Mode::All && matches!(Action::from_ret(instruction.k), Some(Action::Errno(_))) {
            instruction.k = Action::Notify.ret();
        }
    }
    program
}

/// One entry a call, in the order of the names.
pub fn needs(denials: &Denials, filter: &Compiled) -> Vec<Need> {
    let mut by_call: BTreeMap<u32, Vec<&Denial>> = BTreeMap::new();
    for denial in denials.kept() {
        by_call.entry(denial.nr).or_default().push(denial);
    }
    let mut needs: Vec<Need> = by_call.into_iter().filter_map(|(nr, seen)| need(nr, &seen, filter)).collect();
    needs.sort_by(|a, b| a.call.cmp(&b.call));
    needs
}

fn need(nr: u32, seen: &[&Denial], filter: &Compiled) -> Option<Need> {
    let listed = filter.lookup(nr, &seen.first()?.args)?;
    let call = listed.name.map_or_else(|| format!("syscall_{nr}"), str::to_owned);
    let arguments = Table::builtin().numbered(Arch::NATIVE, nr).and_then(|call| call.args.as_ref());
    let when: Vec<Value> = arguments
        .map(|arguments| {
            arguments.iter().enumerate().filter_map(|(i, arg)| condition(i, arg, seen)).collect()
        })
        .unwrap_or_default();
    let mut entry = json!({ "call": call, "reason": "" });
    if !when.is_empty() {
        entry["when"] = Value::Array(when);
    }
    Some(Need {
        call,
        count: seen.iter().map(|denial| denial.count).sum(),
        action: listed.action.to_string(),
        reason: listed.reason,
        group: listed.group,
        place: listed.place.map(|place| format!("{}:{}", place.file, place.line)),
        entry,
    })
}

/// The values that were seen; none for addresses, which say nothing, and for what is different each time.
fn condition(index: usize, arg: &Arg, seen: &[&Denial]) -> Option<Value> {
    let masked = |denial: &&Denial| denial.args.get(index).map(|value| value & arg.width.mask());
    let values: BTreeSet<u64> = seen.iter().filter_map(masked).collect();
    if arg.pointer || values.len() > VALUES {
        return None;
    }
    let mut list = values.into_iter();
    match (list.next(), list.len()) {
        (Some(only), 0) => Some(json!({ "arg": arg.name, "eq": only })),
        (Some(first), _) => {
            let all: Vec<u64> = std::iter::once(first).chain(list).collect();
            Some(json!({ "arg": arg.name, "in": all }))
        }
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use crate::seccomp::bpf::{Data, run};

    fn nr(name: &str) -> u32 {
        Table::builtin().named(name).and_then(|call| call.number(Arch::NATIVE)).unwrap()
    }

    #[test]
    fn each_call_is_one_entry_with_the_values_that_were_seen() {
        let policy = Policy::load("default").unwrap();
        let mut denials = Denials::new(KEPT, KEPT);
        denials.record(nr("socket"), &[2, 1, 0, 0, 0, 0]);
        denials.record(nr("socket"), &[10, 1, 0, 0, 0, 0]);
        denials.record(nr("socket"), &[2, 1, 0, 0, 0, 0]);
        for flags in 0..20 {
            denials.record(nr("unshare"), &[flags, 0, 0, 0, 0, 0]);
        }
        let needs = needs(&denials, policy.filter());
        assert_eq!(
            needs.iter().map(|n| (n.call.as_str(), n.count)).collect::<Vec<_>>(),
            [("socket", 3), ("unshare", 20)]
        );
        let when = &needs[0].entry["when"];
        assert_eq!(when[0]["in"], json!([2, 10]));
        assert_eq!(when[1]["eq"], json!(1));
        assert_eq!(needs[1].entry.get("when"), None);
        assert_eq!(needs[1].group.as_deref(), Some("namespaces"));
        assert!(needs[1].place.as_deref().unwrap().starts_with("seccomp/default.json:"));
    }

    #[test]
    fn another_architecture_dies_in_every_mode() {
        let policy = Policy::load("default").unwrap();
        let answer = |mode, arch, nr| run(&program(policy.filter(), mode), &Data::new(arch, nr, &[0; 6]));
        let native = Arch::NATIVE.audit();
        for mode in [Mode::Denied, Mode::All] {
            assert_eq!(answer(mode, 0x4000_0003, 1), Some(Action::KillProcess.ret()));
            assert_eq!(answer(mode, native, nr("unshare")), Some(Action::Notify.ret()));
            assert_eq!(answer(mode, native, nr("getpid")), Some(Action::Allow.ret()));
        }
        assert_eq!(answer(Mode::All, native, nr("clone3")), Some(Action::Notify.ret()));
        assert_ne!(answer(Mode::Denied, native, nr("clone3")), Some(Action::Notify.ret()));
    }
}
