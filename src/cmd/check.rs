//! `skilljail check`.

use super::Io;
use crate::cli::{CheckArgs, FindingsFormat};
use crate::exit::Exit;
use crate::render::sarif;
use crate::render::text::tty_safe;
use crate::skill::admission;
use crate::skill::check::{Checked, check};
use crate::skill::finding::{Finding, nearest};
use crate::skill::rules::{self, Rule, Severity};
use serde_json::{Value, json};
use std::path::Path;

/// Runs the command.
pub fn run(args: &CheckArgs, io: &mut Io<'_>) -> Exit {
    if let Some(id) = &args.explain {
        return explain(id, io);
    }
    let deny_warnings = match args.deny.as_deref() {
        None => false,
        Some("warnings") => true,
        Some(other) => {
            drop(writeln!(io.err, "skilljail: --deny {}: it takes `warnings`", tty_safe(other)));
            return Exit::Usage;
        }
    };
    let runtime = match args.runtime.as_deref().map(admission::modules_of_runtime).transpose() {
        Ok(modules) => modules,
        Err(error) => {
            let tree = args.runtime.as_deref().unwrap_or(Path::new("")).display().to_string();
            drop(writeln!(
                io.err,
                "skilljail: --runtime {}: {error}\nhint: skilljail runtime build makes one",
                tty_safe(&tree)
            ));
            return Exit::Failed;
        }
    };
    let mut checked = Vec::new();
    let mut failed = false;
    for path in &args.skills {
        match check(path, runtime.clone()) {
            Ok(verdict) => checked.push((path.display().to_string(), verdict)),
            Err(error) => {
                io.tell(&error);
                failed = true;
            }
        }
    }
    let text = match args.format {
        FindingsFormat::Text => as_text(&checked),
        FindingsFormat::Json => format!("{:#}\n", as_json(&checked)),
        FindingsFormat::Sarif => format!("{:#}\n", as_sarif(&checked)),
    };
    if io.out.write_all(text.as_bytes()).is_err() || failed {
        return Exit::Failed;
    }
    let count = |severity| checked.iter().map(|(_, verdict)| verdict.count(severity)).sum::<usize>();
    if count(Severity::Error) > 0 || deny_warnings && count(Severity::Warning) > 0 {
        return Exit::Findings;
    }
    Exit::Success
}

fn explain(id: &str, io: &mut Io<'_>) -> Exit {
    if let Some(rule) = Rule::named(id) {
        let severity = rule.severity().word();
        let text = format!("{}\n\nSeverity: {severity}. Why: {}.\n", rules::explain(rule), rule.why);
        return if io.out.write_all(text.as_bytes()).is_ok() { Exit::Success } else { Exit::Failed };
    }
    let near = nearest(&id.to_uppercase(), rules::ALL.iter().map(|rule| rule.id)).unwrap_or("SJ-K001");
    drop(writeln!(io.err, "skilljail: no rule {}\nhint: rules look like {near}", tty_safe(id)));
    Exit::Usage
}

/// The path of a finding as the caller can open it.
fn place(skill: &str, path: &str) -> String {
    let skill = skill.trim_end_matches('/');
    if path.is_empty() { skill.to_owned() } else { format!("{skill}/{path}") }
}

fn as_text(checked: &[(String, Checked)]) -> String {
    let mut text = String::new();
    for (path, verdict) in checked {
        let mut file = None;
        for finding in &verdict.findings {
            if file.replace(&finding.path) != Some(&finding.path) {
                text.push_str(&tty_safe(&place(path, &finding.path)));
                text.push('\n');
            }
            text.push_str(&tty_safe(&one(path, finding)));
        }
        let (errors, warnings) = (verdict.count(Severity::Error), verdict.count(Severity::Warning));
        let line = format!(
            "{} ({}): valid for the open standard: {}; runnable here: {}; {}, {}\n",
            verdict.name,
            verdict.tier.word(),
            if verdict.standard { "yes" } else { "no" },
            verdict.runnable.words(),
            many(errors, "error"),
            many(warnings, "warning"),
        );
        text.push_str(&tty_safe(&line));
    }
    if checked.iter().any(|(_, verdict)| verdict.reviewed) {
        text.push_str("The review of scripts is an aid for reviewers: code can hide from it, and the jail does not rely on it.\n");
    }
    text
}

fn many(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

fn one(skill: &str, finding: &Finding) -> String {
    let Finding { rule, what, .. } = finding;
    let at = match finding.path.as_str() {
        "" => skill.to_owned(),
        _ => place(skill, &finding.place()),
    };
    let mut text = format!(
        "  {at}: {} {} {}: {what}\n    why: {}\n",
        rule.severity().word(),
        rule.id,
        rule.name,
        rule.why
    );
    if let Some(hint) = &finding.hint {
        text.push_str("    hint: ");
        text.push_str(hint);
        text.push('\n');
    }
    text
}

fn as_json(checked: &[(String, Checked)]) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "rule": finding.rule.id,
            "name": finding.rule.name,
            "severity": finding.rule.severity().word(),
            "path": finding.path,
            "line": (finding.line > 0).then_some(finding.line),
            "column": (finding.column > 0).then_some(finding.column),
            "what": finding.what,
            "why": finding.rule.why,
            "hint": finding.hint,
        })
    };
    let skill = |(path, verdict): &(String, Checked)| {
        json!({
            "path": path,
            "name": verdict.name,
            "tier": verdict.tier.word(),
            "standard": verdict.standard,
            "runnable": verdict.runnable.words(),
            "reviewed": verdict.reviewed,
            "errors": verdict.count(Severity::Error),
            "warnings": verdict.count(Severity::Warning),
            "findings": verdict.findings.iter().map(finding).collect::<Vec<_>>(),
        })
    };
    json!({
        "version": 1,
        "note": "the review of scripts is an aid for reviewers; the jail does not rely on it",
        "skills": checked.iter().map(skill).collect::<Vec<_>>(),
    })
}

fn as_sarif(checked: &[(String, Checked)]) -> Value {
    let all: Vec<sarif::Rule<'_>> = rules::ALL
        .iter()
        .map(|rule| sarif::Rule {
            id: rule.id,
            name: rule.name,
            short: rule.why,
            long: rules::explain(rule),
            level: rule.severity().word(),
        })
        .collect();
    let findings: Vec<sarif::Finding<'_>> = checked
        .iter()
        .flat_map(|(path, verdict)| verdict.findings.iter().map(move |finding| (path, finding)))
        .map(|(path, finding)| sarif::Finding {
            rule: rules::ALL.iter().position(|rule| rule.id == finding.rule.id).unwrap_or(0),
            level: finding.rule.severity().word(),
            message: finding
                .hint
                .as_ref()
                .map_or(finding.what.clone(), |hint| format!("{}\nhint: {hint}", finding.what)),
            path: place(path, &finding.path),
            line: finding.line,
            column: finding.column,
        })
        .collect();
    sarif::log(&all, &findings)
}
