//! The Markdown of SKILL.md: placeholders, and what a runnable skill should not lean on.

use super::finding::{Finding, nearest, shown};
use super::frontmatter::SKILL_MD;
use super::rules;
use super::tier::Tier;

/// The placeholders that are filled in.
pub const PLACEHOLDERS: [&str; 3] = ["TFROBOT_SKILL_DIR", "TFROBOT_SESSION_ID", "TFROBOT_ROBOT_ID"];

/// What the placeholders stand for.
#[derive(Debug, Clone, Default)]
pub struct Values<'a> {
    /// `/skill` in a jail, `skill://NAME/` for a prompt-only skill.
    pub skill_dir: &'a str,
    /// The session's opaque id, if one was given.
    pub session: Option<&'a str>,
    /// The robot's opaque id, if one was given.
    pub robot: Option<&'a str>,
}

impl Values<'_> {
    /// The place of a skill's files as its text may name it.
    pub fn skill_dir(tier: Tier, name: &str) -> String {
        if tier == Tier::PromptOnly { format!("skill://{name}/") } else { "/skill".to_owned() }
    }
}

/// A placeholder that cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// The skill author's fault.
    #[error(
        "SKILL.md:{line}: unknown placeholder {name}\nhint: placeholders: $TFROBOT_SKILL_DIR, $TFROBOT_SESSION_ID, $TFROBOT_ROBOT_ID"
    )]
    Unknown {
        /// Line of SKILL.md.
        line: u32,
        /// As it is written, escaped.
        name: String,
    },
    /// The caller's fault.
    #[error("SKILL.md:{line}: {name} has no value\nhint: give it with {option}")]
    NoValue {
        /// Line of SKILL.md.
        line: u32,
        /// The placeholder.
        name: &'static str,
        /// The option that gives it.
        option: &'static str,
    },
    /// The caller's fault: an id that is not opaque text.
    #[error("{option}: an id has 1 to 128 characters of A-Z, a-z, 0-9 and . _ : @ -")]
    BadId {
        /// The option that gave it.
        option: &'static str,
    },
}

/// Whether an id may stand in a prompt, a log and an environment variable.
pub fn opaque_id(id: &str) -> bool {
    (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:@-".contains(&b))
}

/// Expands the placeholders of a body that begins on line `first_line`: inline code included, fenced code not.
///
/// # Errors
///
/// See [`ExpandError`]; nothing is expanded in part.
pub fn expand(body: &str, first_line: u32, values: &Values<'_>) -> Result<String, ExpandError> {
    for (id, option) in [(values.session, "--session"), (values.robot, "--robot")] {
        if id.is_some_and(|id| !opaque_id(id)) {
            return Err(ExpandError::BadId { option });
        }
    }
    let mut out = String::with_capacity(body.len());
    for (line, text, fenced) in lines(body, first_line) {
        if fenced {
            out.push_str(text);
            continue;
        }
        // `skill://NAME/` has its slash already: `$TFROBOT_SKILL_DIR/x` must not double it.
        let mut slash = false;
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => {
                    let text = if slash { text.strip_prefix('/').unwrap_or(text) } else { text };
                    out.push_str(text);
                    slash = false;
                }
                Piece::Placeholder { written, name } => match name {
                    "TFROBOT_SKILL_DIR" => {
                        out.push_str(values.skill_dir);
                        slash = values.skill_dir.ends_with('/');
                    }
                    "TFROBOT_SESSION_ID" => out.push_str(values.session.ok_or(ExpandError::NoValue {
                        line,
                        name: "$TFROBOT_SESSION_ID",
                        option: "--session",
                    })?),
                    "TFROBOT_ROBOT_ID" => out.push_str(values.robot.ok_or(ExpandError::NoValue {
                        line,
                        name: "$TFROBOT_ROBOT_ID",
                        option: "--robot",
                    })?),
                    _ => return Err(ExpandError::Unknown { line, name: shown(written) }),
                },
            }
        }
    }
    Ok(out)
}

/// Judges a body without expanding it.
pub fn check(body: &str, first_line: u32, tier: Tier) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut leans = false;
    for (line, text, _) in lines(body, first_line).filter(|(_, _, fenced)| !fenced) {
        for piece in pieces(text) {
            if let Piece::Placeholder { written, name } = piece
                && !PLACEHOLDERS.contains(&name)
                && findings.len() < 50
            {
                let what = format!("unknown placeholder {}", shown(written));
                let near = nearest(name, PLACEHOLDERS).map(|near| format!("is ${near} meant? "));
                let hint = near.unwrap_or_default()
                    + "placeholders: $TFROBOT_SKILL_DIR, $TFROBOT_SESSION_ID, $TFROBOT_ROBOT_ID";
                findings
                    .push(Finding::of(&rules::PLACEHOLDER_UNKNOWN, SKILL_MD, what).at(line, 0).hint(hint));
            }
        }
        if !leans && tier.is_python() && text.contains("references/") {
            leans = true;
            let hint = "say in SKILL.md what a caller of the scripts must know";
            let what = "a runnable skill sends its reader to references/";
            findings.push(Finding::of(&rules::LEANS_ON_FILES, SKILL_MD, what).at(line, 0).hint(hint));
        }
    }
    findings
}

/// The lines with their numbers, and whether each belongs to a fenced code block (the fences included).
fn lines(body: &str, first_line: u32) -> impl Iterator<Item = (u32, &str, bool)> {
    let mut open: Option<(char, usize)> = None;
    (first_line..).zip(body.split_inclusive('\n')).map(move |(line, text)| {
        // Fences may stand in lists and quotes, so their indentation is not judged.
        let bare = text.trim_start_matches([' ', '\t', '>']).trim_end();
        let mark = bare.chars().next().unwrap_or(' ');
        let run = bare.chars().take_while(|c| *c == mark).count();
        let rest = bare.get(run..).unwrap_or_default();
        let is_fence = matches!(mark, '`' | '~') && run >= 3;
        match open {
            Some((opener, length)) => {
                if is_fence && mark == opener && run >= length && rest.is_empty() {
                    open = None;
                }
                (line, text, true)
            }
            None if is_fence && !(mark == '`' && rest.contains('`')) => {
                open = Some((mark, run));
                (line, text, true)
            }
            None => (line, text, false),
        }
    })
}

enum Piece<'a> {
    Text(&'a str),
    Placeholder { written: &'a str, name: &'a str },
}

/// Cuts a line at `$TFROBOT_…` and `${TFROBOT_…}`; any other `$` stays text.
fn pieces(line: &str) -> impl Iterator<Item = Piece<'_>> {
    const PREFIX: &str = "TFROBOT_";
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let start = rest.match_indices('$').map(|(at, _)| at).find(|at| {
            let after = &rest[at + 1..];
            after.strip_prefix('{').unwrap_or(after).starts_with(PREFIX)
        });
        let (before, from) = rest.split_at(start.unwrap_or(rest.len()));
        if !before.is_empty() {
            rest = from;
            return Some(Piece::Text(before));
        }
        let braced = from.starts_with("${");
        let begin = if braced { 2 } else { 1 };
        let length = from[begin..].bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let name = &from[begin..begin + length];
        let end = begin + length;
        if braced && !from[end..].starts_with('}') {
            // `${TFROBOT_X:-…}` and the like are no placeholders that anybody fills in.
            rest = &from[end..];
            return Some(Piece::Placeholder { written: &from[..end], name: "" });
        }
        let end = end + usize::from(braced);
        rest = &from[end..];
        Some(Piece::Placeholder { written: &from[..end], name })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, ExpandError> {
        expand(text, 5, &Values { skill_dir: "/skill", session: Some("s-1"), robot: None })
    }

    #[test]
    fn both_forms_inline_code_too_and_fenced_code_not() {
        let text = "a $TFROBOT_SKILL_DIR/x `${TFROBOT_SKILL_DIR}` $$TFROBOT_SESSION_ID $HOME ${X} $\n\
                    ```sh\necho $TFROBOT_SKILL_DIR $TFROBOT_NONE\n``\n```\n~~~~\n$TFROBOT_NONE\n~~~\n~~~~\n$TFROBOT_SKILL_DIR\n\
                    > ```\n> $TFROBOT_NONE\n> ```\n```inline``` $TFROBOT_SKILL_DIR\n";
        let expected = text
            .replace(
                "a $TFROBOT_SKILL_DIR/x `${TFROBOT_SKILL_DIR}` $$TFROBOT_SESSION_ID",
                "a /skill/x `/skill` $s-1",
            )
            .replace("~~~~\n$TFROBOT_SKILL_DIR\n", "~~~~\n/skill\n")
            .replace("```inline``` $TFROBOT_SKILL_DIR", "```inline``` /skill");
        assert_eq!(filled(text).unwrap(), expected);
    }

    #[test]
    fn unknown_and_unfilled_names_are_errors() {
        for (text, name) in [
            ("\n$TFROBOT_NONE", "$TFROBOT_NONE"),
            ("\n$TFROBOT_SKILL_DIRX", "$TFROBOT_SKILL_DIRX"),
            ("\n${TFROBOT_SKILL_DIR", "${TFROBOT_SKILL_DIR"),
            ("\n${TFROBOT_SKILL_DIR:-x}", "${TFROBOT_SKILL_DIR"),
            ("\n$TFROBOT_", "$TFROBOT_"),
        ] {
            assert_eq!(filled(text), Err(ExpandError::Unknown { line: 6, name: name.into() }), "{text}");
            assert_eq!(check(text, 5, Tier::PromptOnly)[0].line, 6, "{text}");
        }
        assert!(matches!(filled("$TFROBOT_ROBOT_ID"), Err(ExpandError::NoValue { option: "--robot", .. })));
        let values = Values { skill_dir: "", session: Some("a\nb"), robot: None };
        assert_eq!(expand("", 1, &values), Err(ExpandError::BadId { option: "--session" }));
    }

    #[test]
    fn a_runnable_skill_that_leans_on_references() {
        let text = "Read\nreferences/format.md and references/x.md\n";
        let findings = check(text, 4, Tier::E2bPython);
        assert_eq!(
            findings.iter().map(|f| (f.rule.name, f.line)).collect::<Vec<_>>(),
            [("leans-on-files", 5)]
        );
        assert_eq!(check(text, 4, Tier::PromptOnly), []);
    }
}
