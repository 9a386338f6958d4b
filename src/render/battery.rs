//! The battery's result: a table by class for people, JUnit and SARIF for pipelines.

use super::{junit, sarif};
use crate::attack::case::Class;
use crate::attack::judge::Verdict;
use crate::attack::{Entry, Tally};
use crate::render::text::tty_safe;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The last line, whatever the format of the rest.
pub fn summary(tally: &Tally) -> String {
    format!("contained {} of {}, escaped {}", tally.contained(), tally.entries.len(), tally.escaped())
}

/// What there is to say of an entry that was not contained.
fn failure(entry: &Entry) -> Option<String> {
    match &entry.judged.verdict {
        Verdict::Contained { .. } => None,
        Verdict::Escaped(reached) => Some(format!("escaped: {}", reached.join("; "))),
        Verdict::Unclear(why) => Some(format!("shows nothing: {why}")),
    }
}

/// For people.
pub fn text(tally: &Tally, verbose: bool) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:<16} {:>7} {:>9} {:>7} {:>7}",
        "class", "attacks", "contained", "escaped", "unclear"
    );
    for class in Class::ALL {
        let entries: Vec<&Entry> = tally.of(class).collect();
        if entries.is_empty() {
            continue;
        }
        let count = |is: fn(&Verdict) -> bool| entries.iter().filter(|e| is(&e.judged.verdict)).count();
        let _ = writeln!(
            out,
            "{:<16} {:>7} {:>9} {:>7} {:>7}",
            class.name(),
            entries.len(),
            count(|v| matches!(v, Verdict::Contained { .. })),
            count(|v| matches!(v, Verdict::Escaped(_))),
            count(|v| matches!(v, Verdict::Unclear(_))),
        );
    }
    for entry in &tally.entries {
        let line = match (&entry.judged.verdict, failure(entry)) {
            (_, Some(failure)) => format!("{}: {}\n  {failure}", entry.case.id(), entry.case.spec.tries),
            (Verdict::Contained { how, expected: false }, _) => {
                format!("{}: contained, but ended otherwise than its case expects: {how}", entry.case.id())
            }
            (Verdict::Contained { how, .. }, _) if verbose => {
                format!("{} ({} ms): {how}", entry.case.id(), entry.judged.took.as_millis())
            }
            _ => continue,
        };
        let _ = writeln!(out, "{}", tty_safe(&line));
    }
    let worked = tally.probes.iter().filter(|probe| probe.failure.is_none()).count();
    let _ = writeln!(out, "legitimate probes that worked: {worked} of {}", tally.probes.len());
    for probe in &tally.probes {
        if let Some(failure) = &probe.failure {
            let _ = writeln!(out, "{}: {}: {}", probe.name, probe.does, tty_safe(failure));
        }
    }
    for left in &tally.residue {
        let _ = writeln!(out, "left behind: {}", tty_safe(left));
    }
    out
}

/// For programs.
pub fn value(tally: &Tally) -> Value {
    let attacks: Vec<Value> = tally.entries.iter().map(attack).collect();
    let probes: Vec<Value> = tally
        .probes
        .iter()
        .map(|probe| json!({"name": probe.name, "does": probe.does, "worked": probe.failure.is_none(), "failure": probe.failure}))
        .collect();
    json!({
        "version": 1,
        "contained": tally.contained(),
        "escaped": tally.escaped(),
        "of": tally.entries.len(),
        "holds": tally.holds(),
        "attacks": attacks,
        "probes": probes,
        "residue": tally.residue,
    })
}

fn attack(entry: &Entry) -> Value {
    let spec = &entry.case.spec;
    let (verdict, how, expected) = match &entry.judged.verdict {
        Verdict::Contained { how, expected } => ("contained", json!(how), json!(expected)),
        Verdict::Escaped(reached) => ("escaped", json!(reached), Value::Null),
        Verdict::Unclear(why) => ("unclear", json!(why), Value::Null),
    };
    json!({
        "class": entry.case.class,
        "name": entry.case.name,
        "tries": spec.tries,
        "source": spec.source,
        "wall": spec.wall,
        "verdict": verdict,
        "how": how,
        "as_expected": expected,
        "took_ms": u64::try_from(entry.judged.took.as_millis()).unwrap_or(u64::MAX),
    })
}

/// JUnit: a suite a class, and one of the legitimate probes.
pub fn junit(tally: &Tally) -> String {
    let mut suites = Vec::new();
    for class in Class::ALL {
        let cases: Vec<junit::Case> = tally
            .of(class)
            .map(|e| junit::Case { name: e.case.name.to_owned(), failures: failure(e).into_iter().collect() })
            .collect();
        if !cases.is_empty() {
            suites.push(junit::Suite { name: class.name().to_owned(), cases });
        }
    }
    let probes = tally
        .probes
        .iter()
        .map(|p| junit::Case { name: p.name.to_owned(), failures: p.failure.clone().into_iter().collect() });
    suites.push(junit::Suite { name: "legitimate".to_owned(), cases: probes.collect() });
    let residue = junit::Case { name: "nothing is left behind".to_owned(), failures: tally.residue.clone() };
    suites.push(junit::Suite { name: "residue".to_owned(), cases: vec![residue] });
    junit::document(&suites)
}

/// SARIF: a rule a class, a result an attack that was not contained.
pub fn sarif(tally: &Tally) -> Value {
    let ids: Vec<String> = Class::ALL.iter().map(|class| format!("attack/{}", class.name())).collect();
    let mut rules: Vec<sarif::Rule<'_>> = ids
        .iter()
        .map(|id| sarif::Rule {
            id,
            name: id,
            short: "an attack of this class must not reach anything outside of the jail",
            long: "The battery runs this attack in the jail on this host and looks at canaries outside of it.",
            level: "error",
        })
        .collect();
    rules.push(sarif::Rule {
        id: "attack/legitimate",
        name: "attack/legitimate",
        short: "what honest skills do must work",
        long: "A jail that refuses everything contains every attack, and is none.",
        level: "error",
    });
    let mut findings = Vec::new();
    for entry in &tally.entries {
        let Some(failure) = failure(entry) else { continue };
        findings.push(sarif::Finding {
            rule: Class::ALL.iter().position(|class| *class == entry.case.class).unwrap_or(0),
            level: "error",
            message: format!("{}: {failure}", entry.case.spec.tries),
            path: format!("tests/attacks/{}/attack.py", entry.case.id()),
            line: 1,
            column: 0,
        });
    }
    for probe in &tally.probes {
        let Some(failure) = &probe.failure else { continue };
        findings.push(sarif::Finding {
            rule: Class::ALL.len(),
            level: "error",
            message: format!("{}: {failure}", probe.does),
            path: format!("tests/probes/{}.py", probe.name),
            line: 1,
            column: 0,
        });
    }
    sarif::log(&rules, &findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::Probed;
    use crate::attack::case::all;
    use crate::attack::engine::Judged;
    use std::time::Duration;

    fn tally(verdicts: [Verdict; 3]) -> Tally {
        let entries = all().unwrap().into_iter().zip(verdicts).map(|(case, verdict)| Entry {
            case,
            judged: Judged { verdict, took: Duration::from_millis(7) },
        });
        Tally { entries: entries.collect(), ..Tally::default() }
    }

    #[test]
    fn an_escape_a_silence_and_a_broken_probe_are_failures_in_every_format() {
        let contained = || Verdict::Contained { how: "EPERM".to_owned(), expected: true };
        let good = tally([contained(), contained(), contained()]);
        assert!(good.holds() && !junit(&good).contains("<failure"));
        assert_eq!(summary(&good), "contained 3 of 3, escaped 0");
        assert_eq!(sarif(&good)["runs"][0]["results"], json!([]));

        let escaped = Verdict::Escaped(vec!["a listener <heard>".to_owned()]);
        let mut bad = tally([escaped, contained(), Verdict::Unclear("dead canaries".to_owned())]);
        bad.probes.push(Probed {
            name: "threads",
            does: "Threads".to_owned(),
            failure: Some("script_error".to_owned()),
            took: Duration::ZERO,
        });
        assert_eq!(summary(&bad), "contained 1 of 3, escaped 1");
        assert!(!bad.holds());
        assert!(
            text(&bad, false).contains("a listener <heard>") && text(&bad, false).contains("worked: 0 of 1")
        );
        assert_eq!(junit(&bad).matches("<failure").count(), 3);
        assert_eq!(sarif(&bad)["runs"][0]["results"].as_array().unwrap().len(), 3);
        assert_eq!(value(&bad)["attacks"][0]["verdict"], "escaped");
    }
}
