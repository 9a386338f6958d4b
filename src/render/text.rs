//! Text that came from outside, made harmless for a terminal.

use crate::skill::finding::escaped;
use std::borrow::Cow;

/// Whether a character may go to a terminal as it is.
pub fn harmless(c: char) -> bool {
    matches!(c, '\n' | '\t') || escaped(c).eq(std::iter::once(c))
}

/// Escapes what could drive a terminal or hide: control characters other than tab and newline, and characters that
/// reorder text or are invisible. The rest is as it was.
pub fn tty_safe(text: &str) -> Cow<'_, str> {
    if text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if harmless(c) {
            safe.push(c);
        } else {
            safe.extend(escaped(c));
        }
    }
    Cow::Owned(safe)
}

/// Escapes text for XML, both for content and for attributes. Characters that XML 1.0 cannot hold become U+FFFD.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#x27;"),
            '\t' | '\n' => out.push(c),
            '\r' => out.push_str("&#13;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c < ' ' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_orders() {
        assert_eq!(
            tty_safe("a\tb\n\x1b]0;x\x07\u{9b}2J\u{202e}é\r"),
            "a\tb\n\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{202e}é\\r"
        );
        assert!(matches!(tty_safe("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn xml_holds_any_text() {
        assert_eq!(
            xml("<a href=\"x\">'&\u{0}\u{ffff}"),
            "&lt;a href=&quot;x&quot;&gt;&#x27;&amp;\u{fffd}\u{fffd}"
        );
    }
}
