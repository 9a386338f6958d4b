//! On which line of which file a policy says something.

use crate::policy::SHIPPED;
use crate::seccomp::json::lines::Lines;

/// The lines of one policy file.
pub struct Places {
    path: String,
    lines: Lines,
}

impl Places {
    /// Of the policy that `word` names; of a file that cannot be read no line is known, which only messages notice.
    pub fn of(word: &str) -> Self {
        match SHIPPED.iter().find(|(name, _)| *name == word) {
            Some((name, text)) => Self { path: format!("policies/{name}.json"), lines: Lines::of(text) },
            None => Self {
                path: word.to_owned(),
                lines: std::fs::read_to_string(word)
                    .map_or_else(|_| Lines::default(), |text| Lines::of(&text)),
            },
        }
    }

    /// The file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The line of a JSON pointer, or of the nearest place above it that is there; 0: not known.
    pub fn line(&self, pointer: &str) -> usize {
        let mut pointer = pointer;
        loop {
            match (self.lines.line(pointer), pointer.rfind('/')) {
                (0, Some(cut)) => pointer = pointer.get(..cut).unwrap_or_default(),
                (line, _) => return line,
            }
        }
    }
}
