//! The second opinion: what `seccompiler` makes of the same allow-set.
//!
//! It has one action for all matches, so it gets the inputs that the filter allows and answers ENOSYS to all
//! others; from the program only "allowed or not" is compared.

use super::bpf::SockFilter;
use super::filter::{Action, Arch, Condition, Filter, Rule, Test};
use super::syscalls::Width;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};
use std::collections::BTreeMap;

/// Compiles the allow-set of a filter.
///
/// # Errors
/// What `seccompiler` says, or that a rule cannot be put in its terms.
pub fn compile(filter: &Filter, arch: Arch) -> Result<Vec<SockFilter>, String> {
    let mut calls = BTreeMap::new();
    for (nr, rules) in filter.calls_on(arch) {
        if let Some(chain) = chain(rules)? {
            calls.insert(i64::from(nr), chain);
        }
    }
    let target = match arch {
        Arch::X86_64 => TargetArch::x86_64,
        Arch::Aarch64 => TargetArch::aarch64,
    };
    let enosys = SeccompAction::Errno(38);
    let program: BpfProgram = SeccompFilter::new(calls, enosys, SeccompAction::Allow, target)
        .and_then(TryInto::try_into)
        .map_err(|e| e.to_string())?;
    Ok(program.iter().map(|i| SockFilter { code: i.code, jt: i.jt, jf: i.jf, k: i.k }).collect())
}

/// The conjunctions under which a call is allowed; an empty chain always, `None` never.
fn chain(rules: &[Rule]) -> Result<Option<Vec<SeccompRule>>, String> {
    let (allowing, refusing): (Vec<&Rule>, Vec<&Rule>) =
        rules.iter().partition(|r| r.action() == Action::Allow);
    if allowing.is_empty() {
        return Ok(None);
    }
    if allowing.iter().any(|r| r.when().is_empty()) && refusing.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let mut conjunctions = Vec::new();
    for rule in allowing {
        conjunctions.extend(product(rule.when())?);
    }
    // A stricter rule wins over one that allows: "allow and none of the stricter".
    for rule in refusing {
        let outside = complement(rule.when())?;
        conjunctions = conjunctions
            .iter()
            .flat_map(|c| outside.iter().map(move |o| c.iter().chain(o).cloned().collect()))
            .collect();
    }
    if conjunctions.is_empty() {
        return Ok(None);
    }
    let rules = conjunctions
        .into_iter()
        .map(|c: Vec<SeccompCondition>| SeccompRule::new(c).map_err(|e| e.to_string()));
    rules.collect::<Result<_, _>>().map(Some)
}

/// A conjunction in which one condition may list values, as a disjunction in which none does.
fn product(when: &[Condition]) -> Result<Vec<Vec<SeccompCondition>>, String> {
    let mut all = vec![Vec::new()];
    for condition in when {
        let choices = disjunction(condition)?;
        all = all
            .iter()
            .flat_map(|c: &Vec<SeccompCondition>| {
                choices.iter().map(move |x| c.iter().cloned().chain([x.clone()]).collect())
            })
            .collect();
    }
    Ok(all)
}

/// `a or b or …` for one condition.
fn disjunction(condition: &Condition) -> Result<Vec<SeccompCondition>, String> {
    let full = condition.arg().width.mask();
    match condition.test() {
        Test::In { mask, values } => values
            .iter()
            .map(|v| {
                one(
                    condition,
                    if *mask == full { SeccompCmpOp::Eq } else { SeccompCmpOp::MaskedEq(*mask) },
                    *v,
                )
            })
            .collect(),
        Test::Ne(v) => Ok(vec![one(condition, SeccompCmpOp::Ne, *v)?]),
        Test::Lt(v) => Ok(vec![one(condition, SeccompCmpOp::Lt, *v)?]),
        Test::Le(v) => Ok(vec![one(condition, SeccompCmpOp::Le, *v)?]),
        Test::Gt(v) => Ok(vec![one(condition, SeccompCmpOp::Gt, *v)?]),
        Test::Ge(v) => Ok(vec![one(condition, SeccompCmpOp::Ge, *v)?]),
    }
}

/// Not (a and b) as a disjunction of conjunctions: not a, or not b.
fn complement(when: &[Condition]) -> Result<Vec<Vec<SeccompCondition>>, String> {
    when.iter().map(negation).collect()
}

/// The opposite of one condition, as a conjunction.
fn negation(condition: &Condition) -> Result<Vec<SeccompCondition>, String> {
    let full = condition.arg().width.mask();
    let flipped = |op, v: u64| one(condition, op, v).map(|c| vec![c]);
    match condition.test() {
        Test::In { mask, values } if *mask == full => {
            values.iter().map(|v| one(condition, SeccompCmpOp::Ne, *v)).collect()
        }
        // A single bit that is not set is one that is clear.
        Test::In { mask, values } if mask.is_power_of_two() && values.len() == 1 => {
            flipped(SeccompCmpOp::MaskedEq(*mask), mask & !values[0])
        }
        Test::In { .. } => {
            Err("a masked condition of several bits in a rule that refuses cannot be turned round".to_owned())
        }
        Test::Ne(v) => flipped(SeccompCmpOp::Eq, *v),
        Test::Lt(v) => flipped(SeccompCmpOp::Ge, *v),
        Test::Le(v) => flipped(SeccompCmpOp::Gt, *v),
        Test::Gt(v) => flipped(SeccompCmpOp::Le, *v),
        Test::Ge(v) => flipped(SeccompCmpOp::Lt, *v),
    }
}

fn one(condition: &Condition, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, String> {
    let len = match condition.arg().width {
        Width::W32 => SeccompCmpArgLen::Dword,
        Width::W64 => SeccompCmpArgLen::Qword,
    };
    SeccompCondition::new(condition.index(), len, op, value).map_err(|e| e.to_string())
}
