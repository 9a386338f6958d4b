//! What is wrong with a package, and where.

use super::rules::{Cost, Rule, Severity};

/// One fault of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule that was broken.
    pub rule: &'static Rule,
    /// The file, relative to the skill; empty for the skill itself.
    pub path: String,
    /// Line from 1; 0 if the finding is about the file as a whole.
    pub line: u32,
    /// Column in characters from 1; 0 if unknown.
    pub column: u32,
    /// What was found there. Names from the package are escaped; values of `.skillenv` never occur.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Finding {
    /// A finding about a file as a whole.
    pub fn of(rule: &'static Rule, path: &str, what: impl Into<String>) -> Self {
        Self { rule, path: path.to_owned(), line: 0, column: 0, what: what.into(), hint: None }
    }

    /// At a line and column.
    #[must_use]
    pub fn at(mut self, line: u32, column: u32) -> Self {
        (self.line, self.column) = (line, column);
        self
    }

    /// With advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether it fails `check`.
    pub fn is_error(&self) -> bool {
        self.rule.severity() == Severity::Error
    }

    /// Whether `run` refuses the package for it.
    pub fn refuses_run(&self) -> bool {
        matches!(self.rule.cost, Cost::Standard | Cost::Runnable)
    }

    /// `path:line:column`, as much of it as is known; `.` for the skill itself.
    pub fn place(&self) -> String {
        let path = if self.path.is_empty() { "." } else { &self.path };
        match (self.line, self.column) {
            (0, _) => path.to_owned(),
            (line, 0) => format!("{path}:{line}"),
            (line, column) => format!("{path}:{line}:{column}"),
        }
    }
}

/// Makes a name from a package printable: control characters and the like as escapes, the rest as it is, cut at 100 characters.
pub fn shown(name: &str) -> String {
    let mut text: String = name.chars().take(100).flat_map(escaped).collect();
    if name.chars().nth(100).is_some() {
        text.push('…');
    }
    text
}

/// One character, escaped if it is invisible or could drive a terminal.
pub fn escaped(c: char) -> impl Iterator<Item = char> {
    let hide = c.is_control() || bidirectional(c);
    let plain = (!hide).then_some(c);
    let escape = hide.then(|| c.escape_default());
    plain.into_iter().chain(escape.into_iter().flatten())
}

/// Characters that reorder the text around them, or are no characters at all.
const fn bidirectional(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The known word that is nearest to `word`, for `did you mean`: at most a third of it may differ.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let longest = word.chars().count();
    if longest > 128 {
        return None;
    }
    known
        .into_iter()
        .filter(|candidate| candidate.len() <= 128)
        .map(|candidate| (distance(word, candidate), candidate))
        .min()
        .filter(|(steps, candidate)| *steps <= (longest.max(candidate.chars().count()) / 3).max(1))
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_without_driving_a_terminal() {
        assert_eq!(shown("a\x1b[31m\u{202e}b\n"), "a\\u{1b}[31m\\u{202e}b\\n");
        assert_eq!(shown("grüße"), "grüße");
    }

    #[test]
    fn near_misses() {
        assert_eq!(nearest("sumarise.py", ["summarise.py", "count.py"]), Some("summarise.py"));
        assert_eq!(nearest("x", ["summarise.py"]), None);
        assert_eq!(nearest("x", []), None);
    }
}
