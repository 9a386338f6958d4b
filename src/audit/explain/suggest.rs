//! The smallest change of a filter that would allow a call: found, then tried on a copy of the filter, so that what is
//! said is what works.

use super::call::Call;
use crate::seccomp::filter::{Condition, Place, Rule, Test};
use crate::seccomp::prove::{Prover, lets_through};
use crate::seccomp::region::Region;
use crate::seccomp::{Action, Arch, Filter, decode, guarantee, tree};
use serde::Serialize;
use serde_json::{Value, json};

/// A change of a filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// Entries to take out, as `file:line call`: each refuses the call whatever else is said.
    pub remove: Vec<String>,
    /// The entry to put into a group whose action is `allow`.
    pub add: Value,
    /// Sentences that promise the contrary and would have to go.
    pub guarantees: Vec<String>,
    /// The change was compiled, and the call passes.
    pub tried: bool,
}

/// What would allow `call`, whose inputs are `region`.
pub(super) fn suggest(filter: &Filter, arch: Arch, call: &Call, region: &Region) -> Suggestion {
    let name = &call.syscall().name;
    let when = wanted(call);
    let (mut changed, mut remove) = (filter.clone(), Vec::new());
    let in_the_way = |rule: &Rule| {
        let refuses = rule.action() != Action::Allow && meets(rule, region);
        // A call stands in a filter with conditions or without, never both.
        rule.call().name == *name && (refuses || rule.when().is_empty() != when.is_empty())
    };
    changed.rules.retain(|rule| {
        let gone = in_the_way(rule);
        if gone {
            remove.push(format!("{}:{} {name}", rule.place().file, rule.place().line));
        }
        !gone
    });
    changed.rules.push(Rule {
        call: call.syscall().clone(),
        action: Action::Allow,
        when: when.clone(),
        group: String::new(),
        reason: String::new(),
        place: Place::default(),
    });
    changed.rules.sort_by(|a, b| (&a.call.name, b.action).cmp(&(&b.call.name, a.action)));
    let (mut guarantees, mut tried) = (Vec::new(), false);
    if let Ok(program) = tree::compile(&changed, arch) {
        let passes = Prover::new(&program).and_then(|mut prover| prover.exception(region, lets_through));
        tried = matches!(passes, Ok(None));
        guarantees = changed
            .guarantees
            .iter()
            .filter(|sentence| {
                guarantee::parse(sentence).is_ok_and(|parsed| parsed.prove(arch, &program).is_err())
            })
            .cloned()
            .collect();
    }
    Suggestion { remove, add: entry(call, &when), guarantees, tried }
}

/// Could one of these inputs meet the rule?
fn meets(rule: &Rule, region: &Region) -> bool {
    crate::seccomp::verify::split_all(region, rule.when()).map_or(true, |(inside, _)| !inside.is_empty())
}

fn wanted(call: &Call) -> Vec<Condition> {
    let args = call.syscall().args.as_deref().unwrap_or_default();
    call.numbers()
        .filter_map(|(index, number)| {
            let arg = args.get(usize::from(index))?;
            let test = Test::In { mask: arg.width.mask(), values: vec![number & arg.width.mask()] };
            Some(Condition { index, arg: arg.clone(), test })
        })
        .collect()
}

fn entry(call: &Call, when: &[Condition]) -> Value {
    let name = &call.syscall().name;
    let mut entry = json!({ "call": name, "reason": "WHO NEEDS IT, AND FOR WHAT" });
    if !when.is_empty() {
        let condition = |condition: &Condition| {
            let value = match condition.test() {
                Test::In { values, .. } => values.first().copied().unwrap_or(0),
                _ => 0,
            };
            json!({ "arg": condition.arg().name, "eq": decode::literal(name, condition.arg(), value, decode::level_of(when)) })
        };
        entry["when"] = when.iter().map(condition).collect();
    }
    entry
}
