//! SARIF 2.1.0, as code scanners read it.

use serde_json::{Value, json};

/// A rule of the tool.
#[derive(Debug, Clone)]
pub struct Rule<'a> {
    /// Its stable id.
    pub id: &'a str,
    /// A short name.
    pub name: &'a str,
    /// One sentence.
    pub short: &'a str,
    /// The long text.
    pub long: &'a str,
    /// `error`, `warning` or `note`.
    pub level: &'a str,
}

/// One finding.
#[derive(Debug, Clone)]
pub struct Finding<'a> {
    /// Index of the rule in the log's rules.
    pub rule: usize,
    /// `error`, `warning` or `note`.
    pub level: &'a str,
    /// What was found.
    pub message: String,
    /// The file, relative to the caller's directory or absolute.
    pub path: String,
    /// Line from 1; 0 if unknown.
    pub line: u32,
    /// Column in characters from 1; 0 if unknown.
    pub column: u32,
}

/// One run of the tool as a SARIF log.
pub fn log(rules: &[Rule<'_>], findings: &[Finding<'_>]) -> Value {
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "skilljail",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": findings.iter().map(|finding| result(rules, finding)).collect::<Vec<_>>(),
        }],
    })
}

fn rule(rule: &Rule<'_>) -> Value {
    json!({
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.short},
        "fullDescription": {"text": rule.long},
        "help": {"text": rule.long},
        "defaultConfiguration": {"level": rule.level},
    })
}

fn result(rules: &[Rule<'_>], finding: &Finding<'_>) -> Value {
    let mut place = json!({"artifactLocation": {"uri": uri(&finding.path)}});
    if finding.line > 0 {
        place["region"] = if finding.column > 0 {
            json!({"startLine": finding.line, "startColumn": finding.column})
        } else {
            json!({"startLine": finding.line})
        };
    }
    json!({
        "ruleId": rules.get(finding.rule).map_or("", |rule| rule.id),
        "ruleIndex": finding.rule,
        "level": finding.level,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
    })
}

/// A path as a URI reference (RFC 3986): every byte that is not unreserved or a slash is percent-encoded.
fn uri(path: &str) -> String {
    let mut out = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            let digit = |nibble: u8| {
                char::from_digit(nibble.into(), 16).map_or('0', |digit| digit.to_ascii_uppercase())
            };
            out.extend([digit(byte >> 4), digit(byte & 15)]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("a b/ü#?.py"), "a%20b/%C3%BC%23%3F.py");
        assert_eq!(uri("/x:y"), "file:///x%3Ay");
        assert_eq!(uri("c:x"), "c%3Ax");
    }
}
