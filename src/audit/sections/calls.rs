//! The filter as a reader takes it.

use super::{row, table};
use crate::audit::sheet::Section;
use crate::audit::units::count;
use crate::seccomp::filter::{Condition, Rule, Test};
use crate::seccomp::syscalls::Arg;
use crate::seccomp::{Action, Filter, decode};

/// A condition as a reader takes it: `domain = AF_UNIX`, `prot & PROT_EXEC = 0`.
fn condition(call: &str, condition: &Condition, level: Option<u64>) -> String {
    let arg = condition.arg();
    let say = |value: u64| decode::value(call, &Arg { pointer: false, ..arg.clone() }, value, level);
    let name = &arg.name;
    match condition.test() {
        Test::In { mask, values } => {
            let values: Vec<String> = values.iter().map(|value| say(*value)).collect();
            let left = if *mask == arg.width.mask() {
                name.clone()
            } else if mask.count_ones() > 20 {
                format!("{name} & ~({})", say(!mask & arg.width.mask()))
            } else {
                format!("{name} & ({})", say(*mask))
            };
            match values.as_slice() {
                [one] => format!("{left} = {one}"),
                many => format!("{left} in {{{}}}", many.join(", ")),
            }
        }
        Test::Ne(value) => format!("{name} != {}", say(*value)),
        Test::Lt(value) => format!("{name} < {}", say(*value)),
        Test::Le(value) => format!("{name} <= {}", say(*value)),
        Test::Gt(value) => format!("{name} > {}", say(*value)),
        Test::Ge(value) => format!("{name} >= {}", say(*value)),
    }
}

/// All conditions of a rule, or that it has none.
pub fn conditions(rule: &Rule) -> String {
    let level = decode::level_of(rule.when());
    let all: Vec<String> = rule.when().iter().map(|one| condition(&rule.call().name, one, level)).collect();
    if all.is_empty() { "any arguments".to_owned() } else { all.join(" and ") }
}

/// What a program sees of an action.
pub fn seen(action: Action) -> String {
    match action {
        Action::Allow => "the call runs".to_owned(),
        Action::Notify => "EPERM, and it is written down".to_owned(),
        Action::Errno(_) => format!("{action}"),
        Action::KillProcess => "the process is killed (SIGSYS)".to_owned(),
    }
}

fn groups(filter: &Filter) -> Vec<&str> {
    let mut names: Vec<(usize, &str)> = Vec::new();
    for rule in filter.rules() {
        if !names.iter().any(|(_, name)| *name == rule.group()) {
            names.push((rule.place().line, rule.group()));
        }
    }
    names.sort_unstable();
    names.into_iter().map(|(_, name)| name).collect()
}

pub(super) fn section(filter: &Filter) -> Section {
    let (mut allowed, mut refused) = (Vec::new(), Vec::new());
    for group in groups(filter) {
        let mut rules: Vec<&Rule> = filter.rules().iter().filter(|rule| rule.group() == group).collect();
        rules.sort_by_key(|rule| rule.place().line);
        for rule in rules {
            let (name, place) =
                (rule.call().name.clone(), format!("{}:{}", rule.place().file, rule.place().line));
            let when = conditions(rule);
            if rule.action() == Action::Allow {
                allowed.push(vec![group.to_owned(), name, when, rule.reason().to_owned(), place]);
            } else {
                refused.push(vec![
                    group.to_owned(),
                    name,
                    when,
                    seen(rule.action()),
                    rule.reason().to_owned(),
                    place,
                ]);
            }
        }
    }
    let calls = |rows: &[Vec<String>]| {
        let mut names: Vec<&String> = rows.iter().filter_map(|row| row.get(1)).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    };
    let by_argument =
        allowed.iter().filter(|row| row.get(2).is_some_and(|when| when != "any arguments")).count();
    let fallbacks = vec![
        vec![
            "a known call with arguments that no rule takes".to_owned(),
            seen(filter.mismatch_action().action()),
            filter.mismatch_action().reason().to_owned(),
        ],
        vec![
            "any other number".to_owned(),
            seen(filter.default_action().action()),
            filter.default_action().reason().to_owned(),
        ],
        row(&[
            "another architecture, x32 numbers",
            "the process is killed (SIGSYS)",
            "whatever the rules say: those tables of calls are not reviewed",
        ]),
    ];
    let about = format!(
        "{} {} allowed, {} of the entries by argument; {} refused by name.",
        filter.about(),
        count(calls(&allowed), "call"),
        by_argument,
        count(calls(&refused), "call")
    );
    super::section(
        "seccomp",
        about,
        vec![
            table("Refused whatever else is said", &["what", "the program sees", "why"], fallbacks),
            table("Allowed", &["group", "call", "when", "why", "where"], allowed),
            table("Refused by name", &["group", "call", "when", "the program sees", "why", "where"], refused),
        ],
    )
}
