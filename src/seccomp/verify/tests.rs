//! The prover finds what is wrong: mutants of the shipped program, and programs that break one promise each.

use super::*;
use crate::seccomp::bpf::{AND, Data, JA, JEQ, JGE, JGT, LD, RET, follow, run};

struct Subject {
    filter: Filter,
    arch: Arch,
    program: Vec<SockFilter>,
    second: Vec<SockFilter>,
    guarantees: Vec<Guarantee>,
}

fn subject(arch: Arch) -> Subject {
    let source = include_str!("../../../seccomp/default.json");
    let filter = crate::seccomp::json::parse("default.json", source, &|_| None).unwrap();
    let guarantees = guarantee::parse_all("default.json", filter.guarantees()).unwrap();
    Subject {
        program: tree::compile(&filter, arch).unwrap(),
        second: reference::compile(&filter, arch).unwrap(),
        filter,
        arch,
        guarantees,
    }
}

impl Subject {
    fn judge(&self, program: &[SockFilter]) -> Result<(), Broken> {
        prove(&self.filter, self.arch, program, &self.second, &self.guarantees)
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).unwrap()
    }
}

/// One change to a program; nothing where the chosen instruction has none of that kind.
fn mutant(subject: &Subject, random: &mut Random) -> Option<(String, Vec<SockFilter>)> {
    let mut program = subject.program.clone();
    let at = random.below(program.len());
    let what = match random.below(4) {
        0 => {
            let mut filter = subject.filter.clone();
            let rule = filter.rules.remove(random.below(filter.rules.len()));
            program = tree::compile(&filter, subject.arch).unwrap();
            format!("without the rule for {} at {}", rule.call.name, rule.place)
        }
        1 => {
            let ins = &mut program[at];
            if matches!(ins.code, RET | JA) {
                return None;
            }
            let (old, step) = (ins.k, if ins.code == LD { 4 } else { 1 });
            ins.k = if random.below(2) == 0 { old.wrapping_add(step) } else { old.wrapping_sub(step) };
            format!("{at}: constant {old:#x} becomes {:#x}", ins.k)
        }
        2 => {
            let ins = &mut program[at];
            let actions =
                [Action::Allow, Action::Notify, Action::Errno(38), Action::Errno(1), Action::KillProcess];
            let new = actions[random.below(actions.len())].ret();
            if ins.code != RET || ins.k == new {
                return None;
            }
            let old = std::mem::replace(&mut ins.k, new);
            format!("{at}: answer {old:#x} becomes {new:#x}")
        }
        _ => {
            let ins = &mut program[at];
            if !matches!(ins.code, JEQ | JGT | JGE) {
                return None;
            }
            let step = 1 + u8::try_from(random.below(3)).unwrap();
            let yes = random.below(2) == 0;
            let jump = if yes { &mut ins.jt } else { &mut ins.jf };
            let old = *jump;
            *jump = if random.below(2) == 0 { old.wrapping_add(step) } else { old.wrapping_sub(step) };
            format!("{at}: jump if {yes} by {old} becomes {jump}")
        }
    };
    (program != subject.program).then_some((what, program))
}

/// Inputs at every boundary of both programs.
fn edges(subject: &Subject, program: &[SockFilter]) -> Vec<Data> {
    let native = Region::everything().listed(ARCH, &[subject.arch.audit()], true).unwrap().unwrap();
    let mut edges = Vec::new();
    for program in [&subject.program, program] {
        let mut prover = Prover::new(program).unwrap();
        let walked: Option<()> = prover
            .walk(&native, |region, _| {
                edges.extend(region.edges()?);
                Ok(None)
            })
            .unwrap();
        assert!(walked.is_none());
    }
    edges
}

/// The instructions that an input comes by.
fn trace(program: &[SockFilter], data: &Data) -> Vec<usize> {
    let mut trace = Vec::new();
    follow(program, data, |at| trace.push(at));
    trace
}

/// Why a survivor is equal: found by running both programs one input at a time, without the prover.
fn reason(subject: &Subject, program: &[SockFilter]) -> String {
    let changed = subject.program.iter().zip(program).position(|(a, b)| a != b);
    let mut answers = std::collections::BTreeSet::new();
    let mut here = 0;
    for data in edges(subject, program) {
        let (old, new) = (run(&subject.program, &data), run(program, &data));
        assert_eq!(old, new, "the prover let a mutant pass that differs on {}", describe(&data));
        let (old_way, new_way) = (trace(&subject.program, &data), trace(program, &data));
        here += usize::from(changed.is_some_and(|at| old_way.contains(&at)));
        if old_way != new_way {
            answers.insert(answer(old.unwrap()));
        }
    }
    match (here, answers.len()) {
        (0, _) => "no input comes here".to_owned(),
        (_, 0) => "no input that comes here takes another way".to_owned(),
        _ => {
            let list: Vec<String> = answers.into_iter().collect();
            format!("what takes another way comes to the same answer there: {}", list.join(", "))
        }
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "the survivors are to be listed")]
fn five_hundred_mutants_are_found_or_shown_to_be_equal() {
    let subjects = Arch::ALL.map(subject);
    let mut random = Random(0x5eed_cafe);
    let (mut found, mut survivors) = (0, Vec::new());
    while found + survivors.len() < 500 {
        let subject = &subjects[random.below(2)];
        let Some((what, program)) = mutant(subject, &mut random) else { continue };
        match subject.judge(&program) {
            Err(_) => found += 1,
            Ok(()) => survivors.push((what, subject, program)),
        }
    }
    for (what, subject, program) in &survivors {
        eprintln!("equal: {} {what}: {}", subject.arch.name(), reason(subject, program));
    }
    eprintln!("{found} found, {} equal", survivors.len());
    assert!(found >= 450, "only {found} of 500 were found");
}

fn ret(action: Action) -> SockFilter {
    SockFilter { code: RET, jt: 0, jf: 0, k: action.ret() }
}

fn ins(code: u16, k: u32, jt: u8, jf: u8) -> SockFilter {
    SockFilter { code, jt, jf, k }
}

#[test]
fn the_shipped_program_is_proven_and_each_broken_promise_has_its_witness() {
    let subject = subject(Arch::X86_64);
    subject.judge(&subject.program).unwrap();
    let broken = |program: &[SockFilter]| subject.judge(program).unwrap_err();

    let found = broken(&[ret(Action::Allow)]);
    assert_eq!(found.claim, "every other architecture is killed");
    assert!(found.witness.contains("architecture 0x0"), "{found:?}");

    let head = [ins(LD, 4, 0, 0), ins(JEQ, Arch::X86_64.audit(), 1, 0), ret(Action::KillProcess)];
    let found = broken(&[&head[..], &[ret(Action::Allow)]].concat());
    assert_eq!(found.claim, "every x32 number is refused");
    assert!(found.witness.contains("0x40000000"), "{found:?}");

    // Everything refused: no hole, yet not what the file says.
    let found = broken(&[&head[..], &[ret(Action::KillProcess)]].concat());
    assert!(found.claim.starts_with("each call gets the action of the file"), "{found:?}");

    // An operation that is not followed, and a comparison that cannot be: refused, not passed over.
    let found = broken(&[ins(0x80, 0, 0, 0), ret(Action::KillProcess)]);
    assert!(found.witness.contains("not in the subset"), "{found:?}");
    let order = [ins(LD, 4, 0, 0), ins(AND, 0xf0, 0, 0), ins(JGT, 3, 0, 0), ret(Action::KillProcess)];
    assert!(broken(&order).witness.contains("by order"));
}

#[test]
fn a_reference_that_differs_is_found_on_both_sides() {
    let subject = subject(Arch::Aarch64);
    for name in ["read", "mmap", "kill", "execveat"] {
        let mut filter = subject.filter.clone();
        filter.rules.retain(|r| r.call.name != name);
        let narrower = reference::compile(&filter, subject.arch).unwrap();
        let found = same_as(&subject.program, &narrower).unwrap_err();
        assert!(
            found.witness.contains(&format!("{name}(")) && found.witness.ends_with("gets: allow"),
            "{found:?}"
        );
        let program = tree::compile(&filter, subject.arch).unwrap();
        let found = same_as(&program, &subject.second).unwrap_err();
        assert!(
            found.witness.contains(&format!("{name}(")) && !found.witness.ends_with("allow"),
            "{found:?}"
        );
    }
}

/// A filter with one group of allowed calls.
fn small(calls: &str, more: &str) -> String {
    format!(
        r#"{{"version": 1, "about": "t", "default": {{"action": "errno", "errno": "ENOSYS", "reason": "r"}},
        "mismatch": {{"action": "notify", "reason": "r"}},
        "groups": [{{"group": "g", "action": "allow", "reason": "r", "calls": [{calls}]}}{more}]}}"#
    )
}

fn judged(text: &str) -> Result<(), String> {
    let filter = crate::seccomp::json::parse("t.json", text, &|_| None).map_err(|e| e.to_string())?;
    build("t.json", &filter).map(|_| ()).map_err(|e| e.to_string())
}

#[test]
fn each_comparison_is_compiled_proven_and_agrees_with_the_reference() {
    let args = ["{\"arg\": \"length\", ", "{\"arg\": \"fd\", "];
    let wide = [
        "0",
        "1",
        "4294967295",
        "4294967296",
        "4294967297",
        "\"0xffffffff00000000\"",
        "\"0xfffffffffffffffe\"",
    ];
    for arg in args {
        for value in wide {
            for op in ["eq", "ne", "lt", "le", "gt", "ge"] {
                if op == "lt" && value == "0" {
                    continue;
                }
                let call = format!(r#"{{"call": "mmap", "reason": "r", "when": [{arg}"{op}": {value}}}]}}"#);
                judged(&small(&call, "")).unwrap_or_else(|e| panic!("{call}: {e}"));
            }
        }
        for list in ["[0, 1, 2, 3, 9]", "[4294967296, 1, 4294967297]", "[1, 2, 8589934592]"] {
            let call = format!(r#"{{"call": "mmap", "reason": "r", "when": [{arg}"in": {list}}}]}}"#);
            judged(&small(&call, "")).unwrap_or_else(|e| panic!("{call}: {e}"));
        }
        for (mask, list) in
            [("7", "[1, 2]"), ("\"0x700000000\"", "[4294967296]"), ("\"0x100000001\"", "[0, 4294967297]")]
        {
            let call = format!(
                r#"{{"call": "mmap", "reason": "r", "when": [{arg}"mask": {mask}, "in": {list}}}]}}"#
            );
            judged(&small(&call, "")).unwrap_or_else(|e| panic!("{call}: {e}"));
        }
    }
}

#[test]
fn rules_that_refuse_win_over_rules_that_allow_in_both_compilers() {
    let calls = r#"{"call": "kill", "reason": "r", "when": [{"arg": "sig", "in": [1, 2, 3]}]}"#;
    let more = r#", {"group": "h", "action": "errno", "errno": "EPERM", "reason": "r", "calls": [
        {"call": "kill", "reason": "r", "when": [{"arg": "pid", "eq": 5}, {"arg": "sig", "mask": 1, "eq": 1}]}]}"#;
    judged(&small(calls, more)).unwrap();
}

#[test]
fn a_filter_too_tangled_to_prove_is_refused() {
    // Where none of these holds, one word carries more literals than the search follows.
    let rules = |n: u32| {
        let rule = |mask: u32| {
            format!(
                r#"{{"call": "kill", "reason": "r", "when": [{{"arg": "sig", "mask": {mask}, "eq": {mask}}}]}}"#
            )
        };
        (3..n + 3).map(rule).collect::<Vec<String>>().join(",")
    };
    judged(&small(&rules(20), "")).unwrap();
    let why = judged(&small(&rules(80), "")).unwrap_err();
    assert!(why.contains("too tangled"), "{why}");
}
