//! Bytes of a script on their way to a terminal: what could drive it is escaped. Pipes and files get them as they are.

use crate::render::text::{harmless, tty_safe};
use std::borrow::Cow;

/// A script's output: control characters other than tab and newline, invisible and reordering characters, and bytes
/// that are no UTF-8, as escapes; the rest as it was.
pub fn output(bytes: &[u8], terminal: bool) -> Cow<'_, [u8]> {
    let plain = std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(harmless));
    if !terminal || plain {
        return Cow::Borrowed(bytes);
    }
    let mut safe = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        safe.push_str(&tty_safe(chunk.valid()));
        for byte in chunk.invalid() {
            safe.push_str("\\x");
            safe.push_str(&crate::digest::hex(&[*byte]));
        }
    }
    Cow::Owned(safe.into_bytes())
}

/// A JSON document, which stays one: the same characters as `\u` escapes.
pub fn json(document: &str, terminal: bool) -> Cow<'_, str> {
    if !terminal || document.chars().all(harmless) {
        return Cow::Borrowed(document);
    }
    let mut safe = String::with_capacity(document.len() + 16);
    for c in document.chars() {
        if harmless(c) {
            safe.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let [high, low] = unit.to_be_bytes();
            safe.push_str("\\u");
            safe.push_str(&crate::digest::hex(&[high, low]));
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::{json, output};

    #[test]
    fn only_a_terminal_gets_escapes() {
        let hostile = b"a\tb\n\x1b]0;x\x07\xc2\x9b2J\xff\r";
        assert_eq!(output(hostile, false), &hostile[..]);
        assert_eq!(output(hostile, true), &b"a\tb\n\\u{1b}]0;x\\u{7}\\u{9b}2J\\xff\\r"[..]);
        assert_eq!(output("größe\n".as_bytes(), true), "größe\n".as_bytes());
    }

    #[test]
    fn a_document_stays_the_same_document() {
        let value = serde_json::json!({"text": "a\u{9b}b\u{202e}c\u{7f}\u{1b}"});
        let safe = json(&value.to_string(), true).into_owned();
        assert!(safe.is_ascii(), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }
}
