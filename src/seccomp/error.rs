//! What can be wrong with a filter. It is the fault of whoever wrote the file, unless a message says otherwise.

/// A filter that was refused. Every message says what, where and why; most end with a hint.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// Not JSON, or not of the filter's shape.
    #[error("{file}: not a filter: {source}\nhint: the shape is that of seccomp/default.json")]
    Syntax {
        /// The file.
        file: String,
        /// What the parser says, with line and column.
        source: serde_json::Error,
    },
    /// A version of the format that this build does not read.
    #[error(
        "{file} (/version): version {found} of the format is not known\nhint: this build reads version 1"
    )]
    Version {
        /// The file.
        file: String,
        /// What stands there.
        found: u64,
    },
    /// Something in it breaks a rule.
    #[error("{place}: {what}{}", hint_line(.hint.as_deref()))]
    Invalid {
        /// Where.
        place: super::filter::Place,
        /// What and why.
        what: String,
        /// What to do.
        hint: Option<String>,
    },
    /// The program could not be made.
    #[error("{file}: the program for {arch} cannot be made: {why}")]
    Compile {
        /// The file.
        file: String,
        /// The architecture's name.
        arch: &'static str,
        /// Why.
        why: String,
    },
    /// The program was made and does not do what was promised.
    #[error("{file}: not proven for {arch}: {claim}: {witness}")]
    NotProven {
        /// The file.
        file: String,
        /// The architecture's name.
        arch: &'static str,
        /// The promise.
        claim: String,
        /// An input that breaks it.
        witness: String,
    },
}

fn hint_line(hint: Option<&str>) -> String {
    hint.map(|h| format!("\nhint: {h}")).unwrap_or_default()
}

/// The names that are nearest to `wanted`, best first, at most three: within two edits, or one containing the other.
pub(crate) fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let short: String = wanted.chars().take(64).collect();
    let mut found: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let edits = distance(&short.to_lowercase(), &name.to_lowercase());
            let inside = short.len() > 3 && (name.contains(&short) || short.contains(name) && name.len() > 3);
            (edits <= 2 || inside).then_some((edits, name))
        })
        .collect();
    found.sort_unstable();
    found.truncate(3);
    found.into_iter().map(|(_, name)| name).collect()
}

/// `did you mean a, b?`, or nothing.
pub(crate) fn did_you_mean(near: &[&str]) -> Option<String> {
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(", ")))
}

/// Edits between two words (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (j, y) in b.iter().enumerate() {
            let up = row.get(j + 1).copied().unwrap_or(usize::MAX - 1);
            let cost = (diagonal + usize::from(x != *y)).min(left + 1).min(up + 1);
            if let Some(cell) = row.get_mut(j) {
                *cell = left;
            }
            (diagonal, left) = (up, cost);
        }
        if let Some(last) = row.last_mut() {
            *last = left;
        }
    }
    row.last().copied().unwrap_or(0)
}
