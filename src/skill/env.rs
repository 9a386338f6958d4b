//! `.skillenv`: the environment that a skill declares, and the secrets that are handed over for it.
//!
//! Values are never printed: not by `Debug`, not in a finding, not in an error. A line that is malformed is
//! not quoted either, for it may be a secret that lost its key.

use super::finding::Finding;
use super::rules::{self, Rule};
use super::tier::SKILLENV;
use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// `.skillenv` and a secrets file have at most this many bytes.
pub const MAX_BYTES: usize = 64 << 10;
/// Nor do they hold more keys.
pub const MAX_KEYS: usize = 256;

/// What a skill declares.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SkillEnv {
    /// `KEY=VALUE`, in the order of the file.
    pub literals: Vec<(String, String)>,
    /// `KEY=`: the names of secrets.
    pub secrets: Vec<String>,
}

impl SkillEnv {
    /// All declared names.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.literals.iter().map(|(key, _)| key.as_str()).chain(self.secrets.iter().map(String::as_str))
    }

    /// The declared secrets that were not handed over.
    pub fn missing<'a>(&'a self, secrets: &Secrets) -> Vec<&'a str> {
        self.secrets.iter().filter(|key| secrets.value(key).is_none()).map(String::as_str).collect()
    }
}

impl fmt::Debug for SkillEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let literals: Vec<&str> = self.literals.iter().map(|(key, _)| key.as_str()).collect();
        f.debug_struct("SkillEnv").field("literals", &literals).field("secrets", &self.secrets).finish()
    }
}

/// The values behind `--secrets`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(BTreeMap<String, String>);

impl Secrets {
    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A secrets file that does not follow the grammar: the caller's fault.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "secrets: line {line}: {what}\nhint: one KEY=VALUE a line, as in .skillenv: no quotes, no export, LF only, UTF-8"
)]
pub struct SecretsError {
    /// Line from 1.
    pub line: u32,
    /// What is wrong with it; never its text.
    pub what: String,
}

/// A declared secret that was not handed over: the caller's fault. The run does not start.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the skill declares secrets that were not handed over: {}\nhint: --secrets FILE with a line KEY=VALUE for each", .0.join(", "))]
pub struct MissingSecrets(pub Vec<String>);

/// Parses `.skillenv`.
pub fn parse(bytes: &[u8]) -> (SkillEnv, Vec<Finding>) {
    let (pairs, faults) = lines(bytes, Grammar::Declared);
    let mut env = SkillEnv::default();
    for (key, value) in pairs {
        if value.is_empty() {
            env.secrets.push(key);
        } else {
            env.literals.push((key, value));
        }
    }
    let findings = faults
        .into_iter()
        .map(|fault| Finding::of(fault.rule, SKILLENV, fault.what).at(fault.line, fault.column));
    (env, findings.collect())
}

/// Parses what `--secrets` holds: the same lines, but a value is taken as it stands (a password may begin with a quote),
/// keys that the jail keeps to itself are merely useless, and an empty value is an error: a missing secret stops the run.
///
/// # Errors
///
/// The caller's fault: the first line that does not follow the grammar.
pub fn parse_secrets(bytes: &[u8]) -> Result<Secrets, SecretsError> {
    let (pairs, faults) = lines(bytes, Grammar::Handed);
    if let Some(fault) = faults.into_iter().next() {
        return Err(SecretsError { line: fault.line, what: fault.what });
    }
    let line_of = |key: &str| {
        let prefix = format!("{key}=");
        bytes.split(|b| *b == b'\n').position(|line| line.starts_with(prefix.as_bytes()))
    };
    if let Some((key, _)) = pairs.iter().find(|(_, value)| value.is_empty()) {
        let line = line_of(key).map_or(0, |at| u32::try_from(at + 1).unwrap_or(u32::MAX));
        return Err(SecretsError { line, what: format!("{key} has no value") });
    }
    Ok(Secrets(pairs.into_iter().collect()))
}

/// Whether the jail keeps a name to itself.
pub fn reserved(key: &str) -> bool {
    const NAMES: [&str; 4] = ["PATH", "HOME", "TMPDIR", "GCONV_PATH"];
    const PREFIXES: [&str; 10] =
        ["TFROBOT_", "LD_", "PYTHON", "GLIBC_", "MALLOC_", "OPENBLAS_", "OMP_", "MKL_", "OPENSSL_", "SSL_"];
    NAMES.contains(&key) || PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

/// Whether a key has the form `[A-Z_][A-Z0-9_]*` and a reasonable length.
pub fn well_formed(key: &str) -> bool {
    key.len() <= 128
        && key.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && key.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

struct LineFault {
    rule: &'static Rule,
    line: u32,
    column: u32,
    what: String,
}

/// Whose lines are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grammar {
    /// A skill's: whatever another dotenv reader would take differently is refused.
    Declared,
    /// The operator's: values are opaque.
    Handed,
}

/// The grammar that `.skillenv` and secrets share.
fn lines(bytes: &[u8], grammar: Grammar) -> (Vec<(String, String)>, Vec<LineFault>) {
    let mut faults = Vec::new();
    let mut fault = |rule, line, column, what: String| faults.push(LineFault { rule, line, column, what });
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut seen = HashSet::new();
    let text = match std::str::from_utf8(bytes) {
        Ok(text) if bytes.len() <= MAX_BYTES => text,
        Ok(_) => {
            fault(&rules::SKILLENV_LINE, 0, 0, "the file has more than 64 KiB".into());
            ""
        }
        Err(error) => {
            let (line, column) = super::json::place(bytes, error.valid_up_to());
            fault(&rules::SKILLENV_LINE, line, column, "not UTF-8".into());
            ""
        }
    };
    for (number, line) in (1..).zip(text.split('\n')) {
        match pair(line, grammar) {
            Ok(None) => {}
            Ok(Some((key, _))) if grammar == Grammar::Declared && reserved(key) => {
                fault(&rules::SKILLENV_RESERVED, number, 1, format!("{key} is reserved"));
            }
            Ok(Some((key, _))) if !seen.insert(key) => {
                fault(&rules::SKILLENV_DUPLICATE, number, 1, format!("{key} is there twice"));
            }
            Ok(Some(_)) if pairs.len() >= MAX_KEYS => {
                fault(&rules::SKILLENV_LINE, number, 1, format!("more than {MAX_KEYS} keys"));
                break;
            }
            Ok(Some((key, value))) => pairs.push((key.to_owned(), value.to_owned())),
            Err((rule, what)) => fault(rule, number, 1, what.into()),
        }
    }
    (pairs, faults)
}

/// One line: a pair, or nothing.
fn pair(line: &str, grammar: Grammar) -> Result<Option<(&str, &str)>, (&'static Rule, &'static str)> {
    let broken = |what| Err((&rules::SKILLENV_LINE, what));
    if line.starts_with('\u{feff}') {
        return broken("begins with a byte order mark");
    }
    if line.ends_with('\r') {
        return broken("ends with a carriage return");
    }
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let Some((key, value)) = line.split_once('=') else {
        return broken("neither KEY=VALUE nor a comment (its text is not shown)");
    };
    if key.starts_with("export ") {
        return broken("`export` has no place here: KEY=VALUE only");
    }
    if !well_formed(key) {
        return Err((&rules::SKILLENV_KEY, "the key is not [A-Z_][A-Z0-9_]* (its text is not shown)"));
    }
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return broken("a control character in the value");
    }
    if grammar == Grammar::Declared
        && let Some(what) = misleading(value)
    {
        return broken(what);
    }
    Ok(Some((key, value)))
}

/// Why another dotenv reader would take this value differently.
fn misleading(value: &str) -> Option<&'static str> {
    if value.starts_with(['"', '\'', '`']) {
        Some("the value begins with a quote, which would become part of it")
    } else if value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']) {
        Some("blanks around the value would become part of it")
    } else if value.ends_with('\\') {
        Some("a backslash at the end does not continue the line")
    } else if value.contains("${") || value.contains("$(") {
        Some("`${` and `$(` are not expanded")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_secrets_and_comments() {
        let (env, findings) = parse(b"# comment\nA_1=x=y #z\n\n_B=\n");
        assert_eq!(findings, []);
        assert_eq!(env.literals, [("A_1".into(), "x=y #z".into())]);
        assert_eq!(env.secrets, ["_B"]);
        assert_eq!(env.keys().collect::<Vec<_>>(), ["A_1", "_B"]);
    }

    #[test]
    fn each_fault_has_its_rule_and_line_and_shows_no_text() {
        for (text, rule) in [
            ("canary", "skillenv-line"),
            ("A=\"canary\"", "skillenv-line"),
            ("A='canary'", "skillenv-line"),
            ("A= canary", "skillenv-line"),
            ("A=canary\r", "skillenv-line"),
            ("A=canary\\", "skillenv-line"),
            ("A=${canary}", "skillenv-line"),
            ("A=$(canary)", "skillenv-line"),
            ("A=canary\u{7}", "skillenv-line"),
            ("export A=canary", "skillenv-line"),
            ("\u{feff}A=canary", "skillenv-line"),
            ("a=canary", "skillenv-key"),
            ("1A=canary", "skillenv-key"),
            ("canary-x=1", "skillenv-key"),
            (" A=canary", "skillenv-key"),
            ("B=canary", "skillenv-duplicate"),
            ("TFROBOT_X=canary", "skillenv-reserved"),
            ("PATH=canary", "skillenv-reserved"),
            ("LD_PRELOAD=canary", "skillenv-reserved"),
            ("PYTHONPATH=canary", "skillenv-reserved"),
            ("SSL_CERT_FILE=canary", "skillenv-reserved"),
        ] {
            let (env, findings) = parse(format!("B=1\n{text}\n").as_bytes());
            assert_eq!(findings.len(), 1, "{text:?}");
            assert_eq!((findings[0].rule.name, findings[0].line), (rule, 2), "{text:?}");
            assert!(!findings[0].what.contains("canary"), "{text:?}");
            assert_eq!(env.literals.len(), 1, "{text:?}");
        }
        assert_eq!(parse(b"A=\xff").1[0].what, "not UTF-8");
        assert_eq!(parse(&vec![b'#'; MAX_BYTES + 1]).1.len(), 1);
    }

    #[test]
    fn debug_shows_keys_only() {
        let (env, _) = parse(b"A=canary\nB=\n");
        let secrets = parse_secrets(b"B=canary\n").unwrap();
        assert_eq!(format!("{env:?} {secrets:?}"), r#"SkillEnv { literals: ["A"], secrets: ["B"] } {"B"}"#);
    }

    #[test]
    fn secrets_have_values() {
        assert_eq!(parse_secrets(b"A=1\nB=\n").unwrap_err().line, 2);
        assert_eq!(parse_secrets(b"\nx").unwrap_err().line, 2);
        assert_eq!(parse_secrets(b"P=\"a$(b) ").unwrap().value("P"), Some("\"a$(b) "));
        let secrets = parse_secrets(b"# c\nA=1\n").unwrap();
        assert_eq!((secrets.value("A"), secrets.value("B"), secrets.len()), (Some("1"), None, 1));
        let (env, _) = parse(b"A=\nB=\n");
        assert_eq!(env.missing(&secrets), ["B"]);
    }
}
