//! Rust source as words: comments and literals gone, items under `#[cfg(test)]` gone, paths found.

/// The words of a source: identifiers whole, every other character by itself.
pub(crate) struct Words(Vec<String>);

impl Words {
    /// Whether these words stand one after the other.
    pub(crate) fn contains(&self, wanted: &[&str]) -> bool {
        self.0.windows(wanted.len()).any(|found| found.iter().zip(wanted).all(|(a, b)| a == b))
    }

    /// Every path that begins at `crate`, `super`, `self` or `skilljail`, in `use` trees and elsewhere; trees are spread out.
    pub(crate) fn paths(&self) -> Vec<Vec<String>> {
        let (mut found, mut at) = (Vec::new(), 0);
        while at < self.0.len() {
            let begins = ["crate", "super", "self", "skilljail"].contains(&self.0[at].as_str());
            if begins && self.joined(at + 1) && !(at > 0 && self.0[at - 1] == ":") {
                at = self.tree(at, &[], &mut found);
            } else {
                at += 1;
            }
        }
        found
    }

    fn joined(&self, at: usize) -> bool {
        self.0.get(at..at + 2).is_some_and(|pair| pair[0] == ":" && pair[1] == ":")
    }

    /// Reads `a::b::{c, d::e}` from `at` on, below `prefix`; gives the place after it.
    fn tree(&self, mut at: usize, prefix: &[String], found: &mut Vec<Vec<String>>) -> usize {
        let mut path = prefix.to_vec();
        loop {
            match self.0.get(at).map(String::as_str) {
                Some("{") => {
                    at += 1;
                    while self.0.get(at).is_some_and(|word| word != "}") {
                        let after = self.tree(at, &path, found);
                        // Commas, and whatever a macro may have put here, are stepped over.
                        at = after.max(at + usize::from(after == at));
                    }
                    return at + 1;
                }
                Some(word) if is_identifier(word) => path.push(word.to_owned()),
                _ => break,
            }
            at += 1;
            if !self.joined(at) {
                break;
            }
            at += 2;
        }
        if path.len() > prefix.len() {
            found.push(path);
        }
        at
    }
}

fn is_identifier(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The words that count.
pub(crate) fn words(text: &str) -> Words {
    let (mut words, bare) = (Vec::<String>::new(), without_literals(text));
    let mut in_word = false;
    for c in bare.chars() {
        let part = c.is_alphanumeric() || c == '_';
        match words.last_mut() {
            Some(word) if part && in_word => word.push(c),
            _ if c.is_whitespace() => {}
            _ => words.push(c.to_string()),
        }
        in_word = part;
    }
    Words(without_tests(words))
}

/// Comments, strings and characters become spaces.
fn without_literals(text: &str) -> String {
    let all: Vec<char> = text.chars().collect();
    let (mut bare, mut at) = (String::new(), 0);
    while at < all.len() {
        let before = at.checked_sub(1).map_or(' ', |before| all[before]);
        let end = match (all[at], all.get(at + 1)) {
            ('/', Some('/')) => all[at..].iter().position(|c| *c == '\n').map_or(all.len(), |n| at + n),
            ('/', Some('*')) => end_of_comment(&all, at),
            ('r', Some('"' | '#')) if !before.is_alphanumeric() || before == 'b' || before == 'c' => {
                end_of_raw(&all, at)
            }
            ('"', _) => end_of_quoted(&all, at, '"'),
            // A lifetime has no quote after its first character, a character has.
            ('\'', Some('\\')) => end_of_quoted(&all, at, '\''),
            ('\'', Some(_)) if all.get(at + 2) == Some(&'\'') => at + 3,
            _ => at,
        };
        if end == at {
            bare.push(all[at]);
            at += 1;
        } else {
            bare.push(' ');
            at = end;
        }
    }
    bare
}

fn end_of_comment(all: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < all.len() {
        match (all[at], all.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) if depth == 1 => return at + 2,
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    at
}

fn end_of_quoted(all: &[char], start: usize, quote: char) -> usize {
    let mut at = start + 1;
    while at < all.len() && all[at] != quote {
        at += if all[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// `r"…"`, `r#"…"#` …; a raw identifier such as `r#type` is none.
fn end_of_raw(all: &[char], start: usize) -> usize {
    let hashes = all[start + 1..].iter().take_while(|c| **c == '#').count();
    if all.get(start + 1 + hashes) != Some(&'"') {
        return start;
    }
    let mut at = start + 2 + hashes;
    while at < all.len() {
        let closes =
            all[at] == '"' && all[at + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes;
        if closes {
            return at + 1 + hashes;
        }
        at += 1;
    }
    at
}

/// Leaves out every item that stands below `#[cfg(test)]`.
fn without_tests(words: Vec<String>) -> Vec<String> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < words.len() {
        let marked = words[at..].iter().zip(MARK).filter(|(a, b)| a == b).count() == MARK.len();
        if marked {
            at = end_of_item(&words, at + MARK.len());
        } else {
            kept.push(words[at].clone());
            at += 1;
        }
    }
    kept
}

/// After the semicolon or the closing brace of the item that begins here, its other attributes included.
fn end_of_item(words: &[String], mut at: usize) -> usize {
    let mut depth = 0;
    let is_use = words.get(at).is_some_and(|word| word == "use");
    while at < words.len() {
        match words[at].as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth -= 1;
                if depth == 0 && words[at] == "}" && !is_use {
                    return at + 1;
                }
            }
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
        at += 1;
    }
    at
}
