//! The YAML of a frontmatter as a small tree with places: bounded, without anchors, aliases, tags and directives.
//!
//! Every scalar stays text, and says whether it was written plain: what a YAML reader would make of `on` or `1.0`
//! is then a question that [`Turned::of`] answers, not an accident of the parser.

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, Span};

/// Nesting beyond this is refused; metadata of skills in the wild stays below four.
pub const MAX_DEPTH: usize = 16;
/// More nodes than this are refused.
pub const MAX_NODES: usize = 4_096;

/// A value and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// The three kinds of YAML nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Text as YAML's escapes leave it, and whether it was written without quotes or block indicator.
    Scalar {
        /// The text.
        text: String,
        /// Neither quoted nor a block: YAML readers may turn it into something else than text.
        plain: bool,
    },
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of the file, duplicates included.
    Map(Vec<(Node, Node)>),
}

/// Why the text is not the YAML that a frontmatter may hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What is wrong.
    pub what: Wrong,
}

/// The classes of [`Fault`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// Not YAML; the parser's words.
    Syntax(String),
    /// YAML, of a kind that a frontmatter has no use for.
    Feature(&'static str),
    /// Deeper than [`MAX_DEPTH`] or more than [`MAX_NODES`].
    TooBig(&'static str),
}

impl Node {
    /// The text, if it is a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// What YAML readers make of this scalar, if it is not text.
    pub fn turned(&self) -> Option<Turned> {
        match &self.kind {
            Kind::Scalar { text, plain: true } => Turned::of(text),
            _ => None,
        }
    }

    /// `a list`, `a mapping` or `text`, for messages.
    pub fn noun(&self) -> &'static str {
        match &self.kind {
            Kind::Scalar { .. } => self.turned().map_or("text", Turned::noun),
            Kind::List(_) => "a list",
            Kind::Map(_) => "a mapping",
        }
    }
}

/// What a plain scalar becomes in common YAML readers (1.1 and 1.2) instead of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turned {
    /// `~`, `null`, nothing.
    Null,
    /// `true`, `on`, `No` …
    Boolean,
    /// `12`, `0x1f`, `1_000`, `12:30`.
    Integer,
    /// `1.0`, `1e3`, `.inf`.
    Float,
    /// `2024-01-01`.
    Date,
}

impl Turned {
    /// For messages.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Null => "nothing (null)",
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::Float => "a floating-point number",
            Self::Date => "a date",
        }
    }

    /// Judges the text of a plain scalar.
    pub fn of(text: &str) -> Option<Self> {
        const BOOLEANS: [&str; 6] = ["true", "false", "yes", "no", "on", "off"];
        if matches!(text, "" | "~" | "null" | "Null" | "NULL") {
            return Some(Self::Null);
        }
        // YAML knows `on`, `On` and `ON`, but `oN` is text; asking for more quotes than needed does no harm.
        if BOOLEANS.iter().any(|word| word.eq_ignore_ascii_case(text)) {
            return Some(Self::Boolean);
        }
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        if integer(unsigned) {
            return Some(Self::Integer);
        }
        if float(unsigned) || matches!(text, ".nan" | ".NaN" | ".NAN") {
            return Some(Self::Float);
        }
        date(text).then_some(Self::Date)
    }
}

fn all(text: &str, pick: impl Fn(char) -> bool) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(|c| c == '_' || pick(c))
}

fn integer(text: &str) -> bool {
    let based = |prefix: &str, base: u32| {
        text.strip_prefix(prefix).is_some_and(|rest| all(rest, |c| c.is_digit(base)))
    };
    let sexagesimal = || {
        text.contains(':')
            && text.split(':').enumerate().all(|(at, part)| {
                !part.is_empty() && (at == 0 || part.len() <= 2) && part.chars().all(|c| c.is_ascii_digit())
            })
    };
    all(text, |c| c.is_ascii_digit()) || based("0x", 16) || based("0o", 8) || based("0b", 2) || sexagesimal()
}

fn float(text: &str) -> bool {
    if matches!(text, ".inf" | ".Inf" | ".INF") {
        return true;
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let exponent_holds = exponent.is_none_or(|digits| {
        let digits = digits.strip_prefix(['+', '-']).unwrap_or(digits);
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
    });
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit() || c == '_');
    exponent_holds
        && digits(whole)
        && digits(fraction)
        && (whole.starts_with(|c: char| c.is_ascii_digit())
            || fraction.starts_with(|c: char| c.is_ascii_digit()))
        && (exponent.is_some() || mantissa.contains('.'))
}

fn date(text: &str) -> bool {
    let day = text.split(['T', 't', ' ']).next().unwrap_or(text);
    let mut parts = day.split('-');
    let mut part = |lengths: std::ops::RangeInclusive<usize>| {
        parts.next().is_some_and(|p| lengths.contains(&p.len()) && p.chars().all(|c| c.is_ascii_digit()))
    };
    part(4..=4) && part(1..=2) && part(1..=2) && parts.next().is_none()
}

/// A collection that is still open while its events come in.
enum Open {
    List(Node, Vec<Node>),
    Map(Node, Vec<(Node, Node)>, Option<Node>),
}

/// Parses one document. `first_line` is the line of the file on which `text` begins.
///
/// # Errors
///
/// The skill author's fault: the first place at which the text is not YAML of the allowed kind.
pub fn parse(text: &str, first_line: u32) -> Result<Node, Fault> {
    let options = granit_parser::options! {
        disallow_directives: true,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut tree = Tree { open: Vec::new(), root: None, nodes: 0, first_line };
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| scan_fault(&error, first_line))?;
        tree.take(event, span)?;
    }
    Ok(tree.root.unwrap_or(Node {
        kind: Kind::Scalar { text: String::new(), plain: true },
        line: first_line,
        column: 1,
    }))
}

fn scan_fault(error: &granit_parser::ScanError, first_line: u32) -> Fault {
    let what = match error.kind() {
        ErrorKind::DirectiveDisallowed => Wrong::Feature("a directive (`%…`)"),
        ErrorKind::UnknownAnchor => Wrong::Feature("an alias (`*name`)"),
        ErrorKind::RecursionLimitExceeded => Wrong::TooBig("nested deeper than 16 levels"),
        _ => Wrong::Syntax(error.info()),
    };
    Fault { line: line_of(error.marker().line(), first_line), column: column_of(error.marker().col()), what }
}

fn line_of(line: usize, first_line: u32) -> u32 {
    u32::try_from(line.saturating_sub(1)).unwrap_or(u32::MAX).saturating_add(first_line)
}

fn column_of(column: usize) -> u32 {
    u32::try_from(column).unwrap_or(u32::MAX).saturating_add(1)
}

struct Tree {
    open: Vec<Open>,
    root: Option<Node>,
    nodes: usize,
    first_line: u32,
}

impl Tree {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Fault> {
        let (line, column) = (line_of(span.start.line(), self.first_line), column_of(span.start.col()));
        let fault = |what| Fault { line, column, what };
        if event.tag().is_some() {
            return Err(fault(Wrong::Feature("a tag (`!name`)")));
        }
        if event.is_alias() {
            return Err(fault(Wrong::Feature("an alias (`*name`)")));
        }
        if event.anchor_id().is_some() {
            return Err(fault(Wrong::Feature("an anchor (`&name`)")));
        }
        if event.is_node() {
            self.nodes += 1;
            if self.nodes > MAX_NODES {
                return Err(fault(Wrong::TooBig("more than 4,096 values")));
            }
        }
        let node = |kind| Node { kind, line, column };
        match event {
            Event::Scalar(text, style, ..) => {
                let plain = style == ScalarStyle::Plain;
                self.put(node(Kind::Scalar { text: text.into_owned(), plain }))
            }
            Event::SequenceStart(..) => {
                self.push(Open::List(node(Kind::List(Vec::new())), Vec::new()), line, column)
            }
            Event::MappingStart(..) => {
                self.push(Open::Map(node(Kind::Map(Vec::new())), Vec::new(), None), line, column)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List(node, items)) => self.put(Node { kind: Kind::List(items), ..node }),
                Some(Open::Map(node, pairs, _)) => self.put(Node { kind: Kind::Map(pairs), ..node }),
                None => Ok(()),
            },
            Event::DocumentStart(..) if self.root.is_some() => {
                Err(fault(Wrong::Feature("a second document")))
            }
            _ => Ok(()),
        }
    }

    fn push(&mut self, open: Open, line: u32, column: u32) -> Result<(), Fault> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Fault { line, column, what: Wrong::TooBig("nested deeper than 16 levels") });
        }
        self.open.push(open);
        Ok(())
    }

    fn put(&mut self, node: Node) -> Result<(), Fault> {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List(_, items)) => items.push(node),
            Some(Open::Map(_, pairs, waiting)) => match waiting.take() {
                Some(key) => pairs.push((key, node)),
                None if matches!(&node.kind, Kind::Scalar { text, plain: true } if text == "<<") => {
                    return Err(Fault {
                        line: node.line,
                        column: node.column,
                        what: Wrong::Feature("a merge key (`<<`)"),
                    });
                }
                None => *waiting = Some(node),
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_from_the_line_of_the_file() {
        let Kind::Map(pairs) = parse("name: a\nlist:\n  - x\n  - 'y'\n", 2).unwrap().kind else {
            panic!("a map")
        };
        assert_eq!((pairs[1].0.line, pairs[1].0.column), (3, 1));
        let Kind::List(items) = &pairs[1].1.kind else { panic!("a list") };
        assert_eq!((items[1].line, items[1].column), (5, 5));
        assert_eq!(items[1].kind, Kind::Scalar { text: "y".into(), plain: false });
    }

    #[test]
    fn what_a_frontmatter_has_no_use_for_is_refused() {
        for (text, feature) in [
            ("a: &x 1\n", "anchor"),
            ("a: *x\n", "alias"),
            ("a: !!str 1\n", "tag"),
            ("a: !ruby/object 1\n", "tag"),
            ("<<: {a: 1}\n", "merge key"),
            ("%YAML 1.1\n---\na: 1\n", "directive"),
            ("a: 1\n...\n---\nb: 2\n", "second document"),
        ] {
            match parse(text, 1) {
                Err(Fault { what: Wrong::Feature(found), .. }) => {
                    assert!(found.contains(feature), "{text}: {found}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn depth_and_count_are_bounded() {
        for text in
            ["[".repeat(20_000), "a: ".to_owned() + &"{a: ".repeat(500), format!("[{}]", "a,".repeat(5_000))]
        {
            let fault = parse(&text, 1).unwrap_err();
            assert!(matches!(fault.what, Wrong::TooBig(_)), "{fault:?}");
        }
    }

    #[test]
    fn plain_scalars_that_readers_turn() {
        for (text, turned) in [
            ("on", Turned::Boolean),
            ("No", Turned::Boolean),
            ("~", Turned::Null),
            ("", Turned::Null),
            ("1.0", Turned::Float),
            ("-.5", Turned::Float),
            ("1e3", Turned::Float),
            (".inf", Turned::Float),
            ("0x1f", Turned::Integer),
            ("1_000", Turned::Integer),
            ("007", Turned::Integer),
            ("12:30", Turned::Integer),
            ("2024-01-01", Turned::Date),
            ("2024-01-01 10:00:00", Turned::Date),
        ] {
            assert_eq!(Turned::of(text), Some(turned), "{text}");
        }
        for text in ["one", "1.0.0", "v1", "e3", "2024-01", "a:b", "0xzz", "MIT", "-", ".", "1:"] {
            assert_eq!(Turned::of(text), None, "{text}");
        }
    }
}
