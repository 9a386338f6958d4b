//! Strict JSON with places: RFC 8259 to the letter, no duplicate keys, bounded depth, no control characters in texts.
//!
//! `serde_json` keeps the last of two equal keys and forgets where a value stood; a contract and an input need both known.

use std::collections::HashSet;

/// Nesting beyond this is refused.
pub const MAX_DEPTH: usize = 32;
/// A number has at most this many characters.
pub const MAX_NUMBER: usize = 64;

/// A value and the byte at which it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Offset in bytes.
    pub at: usize,
}

/// The kinds of JSON values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number as it is written: nothing is rounded.
    Number(String),
    /// A text, unescaped.
    Text(String),
    /// An array.
    List(Vec<Node>),
    /// An object in the order of the file; keys are unique.
    Map(Vec<(Key, Node)>),
}

/// A key of an object and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The key, unescaped.
    pub name: String,
    /// Offset in bytes.
    pub at: usize,
}

impl Node {
    /// The members, if it is an object.
    pub fn members(&self) -> Option<&[(Key, Self)]> {
        match &self.kind {
            Kind::Map(members) => Some(members),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is an integer of 64 bits written without fraction and exponent.
    pub fn integer(&self) -> Option<i64> {
        match &self.kind {
            Kind::Number(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    /// For messages.
    pub const fn noun(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a text",
            Kind::List(_) => "an array",
            Kind::Map(_) => "an object",
        }
    }
}

/// Where and why the bytes are not such JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Offset in bytes.
    pub at: usize,
    /// JSON pointer (RFC 6901) of the value that is wrong; empty for the document.
    pub pointer: String,
    /// What is wrong.
    pub what: String,
}

/// One segment of a JSON pointer, with its slash.
pub fn segment(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Line and column, both from 1, of an offset.
pub fn place(bytes: &[u8], at: usize) -> (u32, u32) {
    let before = bytes.get(..at).unwrap_or(bytes);
    let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |newline| newline + 1);
    let line = before.split(|b| *b == b'\n').count();
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
}

/// Parses one JSON document.
///
/// # Errors
///
/// The author's or the caller's fault: the first place that is not strict JSON, holds a key twice, nests too deep, or
/// holds a control character other than tab and newline in a text.
pub fn parse(bytes: &[u8]) -> Result<Node, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|error| Fault {
        at: error.valid_up_to(),
        pointer: String::new(),
        what: "not UTF-8".to_owned(),
    })?;
    let mut reader = Reader { text, at: 0 };
    let result = reader.value(0).and_then(|node| {
        reader.blanks();
        if reader.at < text.len() {
            Err(reader.fault("more after the end of the JSON value"))
        } else {
            Ok(node)
        }
    });
    result.map_err(|mut broken| {
        broken.segments.reverse();
        Fault { at: broken.at, pointer: broken.segments.concat(), what: broken.what }
    })
}

/// A fault on its way up: each level adds its segment of the pointer.
struct Broken {
    at: usize,
    segments: Vec<String>,
    what: String,
}

impl Broken {
    fn under(mut self, name: &str) -> Self {
        self.segments.push(segment(name));
        self
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn fault(&self, what: impl Into<String>) -> Broken {
        Broken { at: self.at, segments: Vec::new(), what: what.into() }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Broken> {
        self.blanks();
        let at = self.at;
        if depth > MAX_DEPTH {
            return Err(self.fault(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        let kind = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Kind::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(_) => self.word()?,
            None if self.text.trim().is_empty() => return Err(self.fault("empty: no JSON value")),
            None => return Err(self.fault("ends in the middle of a JSON value")),
        };
        Ok(Node { kind, at })
    }

    fn word(&mut self) -> Result<Kind, Broken> {
        for (word, kind) in [("null", Kind::Null), ("true", Kind::Bool(true)), ("false", Kind::Bool(false))] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(kind);
            }
        }
        if self.text[self.at..].starts_with('\u{feff}') {
            return Err(self.fault("begins with a byte order mark"));
        }
        Err(self.fault("not a JSON value"))
    }

    fn object(&mut self, depth: usize) -> Result<Kind, Broken> {
        self.at += 1;
        let mut members = Vec::new();
        let mut seen = HashSet::new();
        self.blanks();
        if self.eat(b'}') {
            return Ok(Kind::Map(members));
        }
        loop {
            self.blanks();
            let at = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.fault("a key in double quotes is missing"));
            }
            let name = self.string()?;
            if !seen.insert(name.clone()) {
                return Err(
                    Broken { at, segments: Vec::new(), what: "the key occurs twice".to_owned() }.under(&name)
                );
            }
            self.blanks();
            if !self.eat(b':') {
                return Err(self.fault("`:` is missing after the key").under(&name));
            }
            let value = self.value(depth + 1).map_err(|broken| broken.under(&name))?;
            members.push((Key { name, at }, value));
            self.blanks();
            if self.eat(b'}') {
                return Ok(Kind::Map(members));
            }
            if !self.eat(b',') {
                return Err(self.fault("`,` or `}` is missing"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Kind, Broken> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if self.eat(b']') {
            return Ok(Kind::List(items));
        }
        loop {
            let item = self.value(depth + 1).map_err(|broken| broken.under(&items.len().to_string()))?;
            items.push(item);
            self.blanks();
            if self.eat(b']') {
                return Ok(Kind::List(items));
            }
            if !self.eat(b',') {
                return Err(self.fault("`,` or `]` is missing"));
            }
        }
    }

    fn digits(&mut self) -> Result<(), Broken> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.fault("a digit is missing in the number"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Kind, Broken> {
        let start = self.at;
        self.eat(b'-');
        if self.eat(b'0') {
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(self.fault("a number does not begin with 0"));
            }
        } else {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            if !self.eat(b'+') {
                self.eat(b'-');
            }
            self.digits()?;
        }
        let digits = &self.text[start..self.at];
        // Readers differ on what these are: infinity, an error, or a computation that takes its time.
        if digits.len() > MAX_NUMBER || digits.parse::<f64>().is_ok_and(f64::is_infinite) {
            return Err(Broken { at: start, ..self.fault("a number out of range") });
        }
        Ok(Kind::Number(digits.to_owned()))
    }

    fn string(&mut self) -> Result<String, Broken> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(c) = rest.chars().next() else {
                return Err(self.fault("a text has no closing quote"));
            };
            match c {
                '"' => {
                    self.at += 1;
                    return Ok(text);
                }
                '\\' => text.push(self.escape()?),
                // JSON wants even these two escaped.
                '\t' | '\n' => {
                    return Err(self.fault("a tab or newline in a text must be written \\t or \\n"));
                }
                c if c.is_control() => return Err(self.fault(control(c))),
                c => {
                    self.at += c.len_utf8();
                    text.push(c);
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Broken> {
        let fault = self.fault("an escape that JSON does not have");
        self.at += 1;
        let c = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'r') => '\r',
            Some(b'u') => return self.unicode(fault),
            _ => return Err(fault),
        };
        if c.is_control() && !matches!(c, '\t' | '\n') {
            return Err(Broken { what: control(c), ..fault });
        }
        self.at += 1;
        Ok(c)
    }

    fn unicode(&mut self, fault: Broken) -> Result<char, Broken> {
        let Some(first) = self.four() else { return Err(fault) };
        let code = match first {
            0xD800..=0xDBFF => {
                let low = if self.eat(b'\\') && self.peek() == Some(b'u') { self.four() } else { None };
                match low {
                    Some(low @ 0xDC00..=0xDFFF) => 0x1_0000 + ((first - 0xD800) << 10) + (low - 0xDC00),
                    _ => return Err(Broken { what: "half of a surrogate pair".to_owned(), ..fault }),
                }
            }
            code => code,
        };
        match char::from_u32(code) {
            Some(c) if c.is_control() && !matches!(c, '\t' | '\n') => {
                Err(Broken { what: control(c), ..fault })
            }
            Some(c) => Ok(c),
            None => Err(Broken { what: "half of a surrogate pair".to_owned(), ..fault }),
        }
    }

    /// The number after `\u`; `at` stands on the `u`.
    fn four(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at + 1..self.at + 5)?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 5;
        u32::from_str_radix(digits, 16).ok()
    }
}

fn control(c: char) -> String {
    format!("control character U+{:04X} in a text", u32::from(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (String, String) {
        let fault = parse(text.as_bytes()).expect_err(text);
        (fault.pointer, fault.what)
    }

    #[test]
    fn values_keep_their_writing_and_place() {
        let node = parse(br#" {"a": [1, 2.50, "\u00e9\ud83d\ude00\n"]} "#).unwrap();
        let members = node.members().unwrap();
        assert_eq!((members[0].0.name.as_str(), members[0].0.at, node.at), ("a", 2, 1));
        let Kind::List(items) = &members[0].1.kind else { panic!("an array") };
        assert_eq!(items[1].kind, Kind::Number("2.50".into()));
        assert_eq!(items[2].text(), Some("é😀\n"));
        assert_eq!((items[0].integer(), items[1].integer()), (Some(1), None));
    }

    #[test]
    fn agrees_with_serde_json_on_what_is_json() {
        for text in [
            "",
            " ",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "1.",
            "-",
            "1e",
            "+1",
            "nul",
            "tru",
            "\"\\x\"",
            "\"\\u12\"",
            "\"a",
            "{\"a\" 1}",
            "{a:1}",
            "[1 2]",
            "'a'",
            "NaN",
            "Infinity",
            "1 2",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\u{feff}1",
            "0",
            "-0",
            "1e5",
            "1E-5",
            "[]",
            "{}",
            "[[],{}]",
            "\"\\\"\\\\\\/\"",
            "null",
            "true",
            "false",
            " [ 1 , 2 ] ",
        ] {
            assert_eq!(
                parse(text.as_bytes()).is_ok(),
                serde_json::from_str::<serde_json::Value>(text).is_ok(),
                "{text:?}"
            );
        }
    }

    #[test]
    fn faults_carry_the_pointer() {
        assert_eq!(fault(r#"{"a":{"b":1,"b":2}}"#), ("/a/b".into(), "the key occurs twice".into()));
        assert_eq!(fault(r#"{"a":{"b":1,"\u0062":2}}"#).0, "/a/b");
        assert_eq!(
            fault(r#"{"x/y~":["ok","\u0000"]}"#),
            ("/x~1y~0/1".into(), "control character U+0000 in a text".into())
        );
        assert_eq!(fault("[\"\u{85}\"]").1, "control character U+0085 in a text");
        assert_eq!(fault("[\"\\r\"]").1, "control character U+000D in a text");
        assert_eq!(fault("{} {}"), (String::new(), "more after the end of the JSON value".into()));
        assert_eq!(fault(r#"{"a":1e999}"#), ("/a".into(), "a number out of range".into()));
        assert_eq!(fault(&format!("[{}]", "1".repeat(65))).1, "a number out of range");
        assert!(fault(&"[".repeat(100_000)).1.contains("nested deeper"));
    }

    #[test]
    fn places_count_characters() {
        assert_eq!(place("a\nö {".as_bytes(), 5), (2, 3));
        assert_eq!(place(b"", 0), (1, 1));
    }
}
