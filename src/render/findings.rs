//! Findings about policies, for eyes and for tools.

use crate::audit::lint::{self, Finding, Severity};
use crate::render::junit::{Case, Suite};
use crate::render::text::tty_safe;
use crate::render::{junit, sarif};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What was found in one policy.
#[derive(Debug, Clone)]
pub struct Checked {
    /// As the caller named it.
    pub word: String,
    /// What was found.
    pub findings: Vec<Finding>,
}

fn place(finding: &Finding) -> String {
    if finding.line > 0 { format!("{}:{}", finding.path, finding.line) } else { finding.path.clone() }
}

/// For people.
pub fn text(all: &[Checked]) -> String {
    let mut out = String::new();
    for checked in all {
        for finding in &checked.findings {
            let _ = writeln!(
                out,
                "{}: {} {} {}: {}",
                place(finding),
                finding.severity.word(),
                finding.rule,
                finding.name,
                finding.what
            );
            let source =
                if finding.source.is_empty() { String::new() } else { format!(" ({})", finding.source) };
            let _ = writeln!(out, "    why: {}{source}\n    fix: {}", finding.why, finding.fix);
        }
        let count = |severity| checked.findings.iter().filter(|finding| finding.severity == severity).count();
        let _ = writeln!(
            out,
            "{}: {} errors, {} warnings, {} notes; {} rules",
            checked.word,
            count(Severity::Error),
            count(Severity::Warning),
            count(Severity::Note),
            lint::rules().count()
        );
    }
    tty_safe(&out).into_owned()
}

/// For programs.
pub fn json(all: &[Checked]) -> Value {
    let policy = |checked: &Checked| json!({ "policy": checked.word, "findings": checked.findings });
    json!({ "version": 1, "policies": all.iter().map(policy).collect::<Vec<_>>() })
}

/// For code scanners.
pub fn sarif(all: &[Checked]) -> Value {
    let long: Vec<String> = lint::rules().map(explain).collect();
    let rules: Vec<sarif::Rule<'_>> = lint::rules()
        .zip(&long)
        .map(|(rule, long)| sarif::Rule {
            id: rule.id,
            name: rule.name,
            short: rule.why,
            long,
            level: rule.severity.word(),
        })
        .collect();
    let findings: Vec<sarif::Finding<'_>> = all
        .iter()
        .flat_map(|checked| &checked.findings)
        .map(|finding| sarif::Finding {
            rule: rules.iter().position(|rule| rule.id == finding.rule).unwrap_or(0),
            level: finding.severity.word(),
            message: format!("{}\nfix: {}", finding.what, finding.fix),
            path: finding.path.clone(),
            line: u32::try_from(finding.line).unwrap_or(0),
            column: 0,
        })
        .collect();
    sarif::log(&rules, &findings)
}

/// For CI: a suite a policy, a test a rule. `fails` says which findings fail their test.
pub fn junit(all: &[Checked], fails: &dyn Fn(&Finding) -> bool) -> String {
    let suites: Vec<Suite> = all
        .iter()
        .map(|checked| Suite {
            name: checked.word.clone(),
            cases: lint::rules()
                .map(|rule| Case {
                    name: format!("{} {}", rule.id, rule.name),
                    failures: checked
                        .findings
                        .iter()
                        .filter(|finding| finding.rule == rule.id && fails(finding))
                        .map(|finding| format!("{}: {}\nfix: {}", place(finding), finding.what, finding.fix))
                        .collect(),
                })
                .collect(),
        })
        .collect();
    junit::document(&suites)
}

/// The long text of a rule.
pub fn explain(rule: &lint::Rule) -> String {
    let source = if rule.source.is_empty() { String::new() } else { format!("\nSee: {}.", rule.source) };
    format!(
        "{} {} ({})\n\n{}\n\nFix: {}{source}",
        rule.id,
        rule.name,
        rule.severity.word(),
        rule.why,
        rule.fix
    )
}
