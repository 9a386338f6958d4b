//! How deep Python source nests, found without recursion, before a recursive parser sees it.
//!
//! The tree of an expression is at most as deep as it has words since its last comma, on every level of brackets
//! together; the tree of statements as deep as their indentation.

/// Brackets within brackets.
pub(super) const MAX_BRACKETS: usize = 100;
/// Levels of indentation.
pub(super) const MAX_INDENTS: usize = 100;
/// Words that may make one expression deep.
pub(super) const MAX_WORDS: usize = 2_000;

/// What is too deep, and on which line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooDeep {
    /// Offset in bytes.
    pub(super) at: usize,
    /// What there is too much of.
    pub(super) what: &'static str,
}

/// A place in which the text is read in its own way.
#[derive(Clone, Copy)]
enum Frame {
    /// Brackets of code, closed by this byte. The words are those of the level outside.
    Bracket { close: u8, words: usize },
    /// The text of an f-string or t-string: braces in it hold code.
    Format { quote: u8, triple: bool, raw: bool },
    /// The part after `:` in a replacement field.
    Spec { triple: bool },
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    frames: Vec<Frame>,
    /// Words on this level since its last comma or line.
    words: usize,
    /// Words on all levels that are open.
    depth: usize,
    indents: Vec<usize>,
}

/// Looks at the whole source.
///
/// # Errors
///
/// The first place at which it nests too deep.
pub(super) fn check(source: &str) -> Result<(), TooDeep> {
    let mut scan =
        Scan { bytes: source.as_bytes(), at: 0, frames: Vec::new(), words: 0, depth: 0, indents: vec![0] };
    scan.line_start()?;
    while scan.at < scan.bytes.len() {
        match scan.frames.last().copied() {
            Some(Frame::Format { quote, triple, raw }) => scan.format(quote, triple, raw)?,
            Some(Frame::Spec { triple }) => scan.spec(triple)?,
            _ => scan.code()?,
        }
    }
    Ok(())
}

impl Scan<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn too_deep(&self, what: &'static str) -> TooDeep {
        TooDeep { at: self.at.min(self.bytes.len()), what }
    }

    fn word(&mut self) -> Result<(), TooDeep> {
        self.words += 1;
        self.depth += 1;
        if self.depth > MAX_WORDS { Err(self.too_deep("words in one expression")) } else { Ok(()) }
    }

    /// A comma or a line: what follows does not nest in what came before.
    fn separate(&mut self) {
        self.depth -= self.words;
        self.words = 0;
    }

    fn push(&mut self, frame: Frame) -> Result<(), TooDeep> {
        if self.frames.len() >= MAX_BRACKETS {
            return Err(self.too_deep("levels of brackets"));
        }
        self.frames.push(frame);
        Ok(())
    }

    fn open(&mut self, close: u8) -> Result<(), TooDeep> {
        self.word()?;
        let words = std::mem::take(&mut self.words);
        self.push(Frame::Bracket { close, words })
    }

    /// Closes the nearest bracket if this is its byte; a stray one is left to the parser.
    fn close(&mut self, byte: u8) {
        if let Some(Frame::Bracket { close, words }) = self.frames.last().copied()
            && close == byte
        {
            self.separate();
            self.words = words;
            self.frames.pop();
        }
    }

    /// Measures the indentation of a line that begins a statement.
    fn line_start(&mut self) -> Result<(), TooDeep> {
        let mut width = 0;
        loop {
            match self.peek(0) {
                b' ' => width += 1,
                b'\t' => width = (width / 8 + 1) * 8,
                0x0c => width = 0,
                _ => break,
            }
            self.at += 1;
        }
        if matches!(self.peek(0), b'\n' | b'\r' | b'#' | 0) {
            return Ok(());
        }
        while self.indents.last().is_some_and(|top| *top > width) {
            self.indents.pop();
        }
        if self.indents.last().is_none_or(|top| *top < width) {
            self.indents.push(width);
        }
        if self.indents.len() > MAX_INDENTS { Err(self.too_deep("levels of indentation")) } else { Ok(()) }
    }

    fn code(&mut self) -> Result<(), TooDeep> {
        let byte = self.peek(0);
        match byte {
            b'\n' | b'\r' => {
                self.at += 1;
                if self.frames.is_empty() {
                    self.separate();
                    self.line_start()?;
                }
            }
            b' ' | b'\t' | 0x0c => self.at += 1,
            b'\\' => {
                // A continued line, or nothing that Python knows.
                self.at += 1 + usize::from(matches!(self.peek(1), b'\n' | b'\r'));
            }
            b'#' => {
                while !matches!(self.peek(0), b'\n' | b'\r' | 0) {
                    self.at += 1;
                }
                self.at += usize::from(self.peek(0) == 0);
            }
            b'(' | b'[' | b'{' => {
                self.open(match byte {
                    b'(' => b')',
                    b'[' => b']',
                    _ => b'}',
                })?;
                self.at += 1;
            }
            b')' | b']' | b'}' => {
                self.close(byte);
                self.at += 1;
            }
            b',' => {
                self.separate();
                self.at += 1;
            }
            b';' => {
                if self.frames.is_empty() {
                    self.separate();
                }
                self.at += 1;
            }
            b'"' | b'\'' => self.string("")?,
            b':' if self.in_field() => {
                // The words of the field's expression still hold the spec.
                let triple = self.format_below();
                self.push(Frame::Spec { triple })?;
                self.at += 1;
            }
            _ if byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 => self.name()?,
            _ => {
                self.word()?;
                self.at += 1;
            }
        }
        Ok(())
    }

    /// Whether the nearest frame is the replacement field of a format string.
    fn in_field(&self) -> bool {
        let mut above = self.frames.iter().rev();
        matches!(above.next(), Some(Frame::Bracket { close: b'}', .. }))
            && matches!(above.next(), Some(Frame::Format { .. } | Frame::Spec { .. }))
    }

    fn format_below(&self) -> bool {
        self.frames.iter().rev().find_map(|frame| match frame {
            Frame::Format { triple, .. } => Some(*triple),
            _ => None,
        }) == Some(true)
    }

    /// A name, a number, or the prefix of a string.
    fn name(&mut self) -> Result<(), TooDeep> {
        let start = self.at;
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == b'_' || self.peek(0) >= 0x80 {
            self.at += 1;
        }
        let text = self.bytes.get(start..self.at).unwrap_or_default();
        if matches!(self.peek(0), b'"' | b'\'')
            && text.len() <= 2
            && text.iter().all(|b| b"rRbBuUfFtT".contains(b))
        {
            let prefix: String = text.iter().map(|b| char::from(b.to_ascii_lowercase())).collect();
            return self.string(&prefix);
        }
        self.word()
    }

    /// A string; `at` stands on its quote.
    fn string(&mut self, prefix: &str) -> Result<(), TooDeep> {
        self.word()?;
        let quote = self.peek(0);
        let triple = self.peek(1) == quote && self.peek(2) == quote;
        self.at += if triple { 3 } else { 1 };
        if prefix.contains(['f', 't']) {
            return self.push(Frame::Format { quote, triple, raw: prefix.contains('r') });
        }
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b'\\' => self.at += 2,
                b'\n' | b'\r' if !triple => return Ok(()),
                byte if byte == quote && !triple => {
                    self.at += 1;
                    return Ok(());
                }
                byte if byte == quote && self.peek(1) == quote && self.peek(2) == quote => {
                    self.at += 3;
                    return Ok(());
                }
                _ => self.at += 1,
            }
        }
        Ok(())
    }

    /// The text of a format string.
    fn format(&mut self, quote: u8, triple: bool, raw: bool) -> Result<(), TooDeep> {
        match self.peek(0) {
            b'\\' if !raw => self.at += 2,
            b'{' if self.peek(1) == b'{' => self.at += 2,
            b'{' => {
                self.open(b'}')?;
                self.at += 1;
            }
            // Unterminated: Python stops here too.
            b'\n' | b'\r' if !triple => {
                self.frames.pop();
            }
            byte if byte == quote && !triple => {
                self.at += 1;
                self.frames.pop();
            }
            byte if byte == quote && self.peek(1) == quote && self.peek(2) == quote => {
                self.at += 3;
                self.frames.pop();
            }
            _ => self.at += 1,
        }
        Ok(())
    }

    /// The format of a replacement field, in which fields may stand again.
    fn spec(&mut self, triple: bool) -> Result<(), TooDeep> {
        match self.peek(0) {
            b'{' => {
                self.open(b'}')?;
                self.at += 1;
            }
            b'}' => {
                self.frames.pop();
                self.close(b'}');
                self.at += 1;
            }
            b'\n' | b'\r' if !triple => {
                self.frames.pop();
            }
            _ => self.at += 1,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(source: &str) -> Option<&'static str> {
        check(source).err().map(|deep| deep.what)
    }

    #[test]
    fn ordinary_code_passes() {
        let long = format!("x = [{}]\n", "1 + 2, ".repeat(50_000));
        for source in [
            "",
            "def f(a):\n    return f'{a!r:>{a}} {a[\"x\"]} {{'\n",
            "x = f'''{\n a:\n }'''\n",
            "s = '((((' * 3  # ((((\n",
            r#"t = rf"\{x}" "(((" '\'((' b'\\'"#,
            "if 1:\n\tif 2:\n\t\tpass\n",
            "x: dict[str, int] = {'a': 1}\nf = lambda: 0\n",
            &long,
        ] {
            assert_eq!(what(source), None, "{source:.80}");
        }
    }

    #[test]
    fn depth_in_each_way_is_found() {
        for (source, expected) in [
            ("(".repeat(200), "levels of brackets"),
            ("[{(".repeat(100), "levels of brackets"),
            (format!("x = {}1", "-".repeat(5_000)), "words in one expression"),
            (format!("x = {}1", "not ".repeat(5_000)), "words in one expression"),
            (format!("x = a{}", ".b".repeat(5_000)), "words in one expression"),
            (format!("x = a{}", "()".repeat(5_000)), "words in one expression"),
            (format!("x = {}1", "1 + ".repeat(5_000)), "words in one expression"),
            (format!("x = {}1", "lambda: ".repeat(5_000)), "words in one expression"),
            (format!("x = {}1", "a if b else ".repeat(5_000)), "words in one expression"),
            (format!("x = {}1", "1 + \\\n".repeat(5_000)), "words in one expression"),
            (format!("x = {}", "f'{".repeat(200)), "levels of brackets"),
            (format!("x = {}", "f'{x:{".repeat(200)), "levels of brackets"),
            ((0..200).map(|n| " ".repeat(n) + "if 1:\n").collect(), "levels of indentation"),
        ] {
            assert_eq!(what(&source), Some(expected), "{source:.40}");
        }
    }

    #[test]
    fn what_stands_in_strings_and_comments_does_not_nest() {
        let source = format!("'{0}'\n'''{0}\n{0}'''\n# {0}\nx = 1\n", "(".repeat(500));
        assert_eq!(what(&source), None);
    }
}
