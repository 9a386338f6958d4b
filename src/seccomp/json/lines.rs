//! On which line of a file a JSON pointer's value begins. Only for messages: a wrong line weakens nothing.

use std::collections::HashMap;

/// The first line of every value, by JSON pointer.
#[derive(Default)]
pub(crate) struct Lines(HashMap<String, usize>);

/// Containers inside one another that are followed; serde refuses more anyway.
const MAX_DEPTH: usize = 16;

enum Frame {
    Array(usize),
    Object(String),
}

impl Lines {
    /// Scans a text; of one that is not JSON whatever was understood is kept.
    pub(crate) fn of(text: &str) -> Self {
        let mut lines = HashMap::new();
        let mut stack: Vec<Frame> = Vec::new();
        let (mut line, mut at, mut key_next) = (1, 0, false);
        let bytes = text.as_bytes();
        while let Some(byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'\n' => line += 1,
                b' ' | b'\t' | b'\r' | b':' => {}
                b',' => match stack.last_mut() {
                    Some(Frame::Array(index)) => *index += 1,
                    Some(Frame::Object(_)) => key_next = true,
                    None => {}
                },
                b']' | b'}' => {
                    stack.pop();
                    key_next = false;
                }
                b'"' => {
                    let start = at;
                    while bytes.get(at).is_some_and(|b| *b != b'"') {
                        at += if bytes.get(at) == Some(&b'\\') { 2 } else { 1 };
                    }
                    let word = text.get(start..at).unwrap_or_default();
                    at += 1;
                    match stack.last_mut() {
                        Some(Frame::Object(key)) if key_next => {
                            word.clone_into(key);
                            key_next = false;
                        }
                        _ => note(&mut lines, &stack, line),
                    }
                }
                b'[' | b'{' => {
                    note(&mut lines, &stack, line);
                    if stack.len() >= MAX_DEPTH {
                        break;
                    }
                    key_next = *byte == b'{';
                    stack.push(if key_next { Frame::Object(String::new()) } else { Frame::Array(0) });
                }
                _ => note(&mut lines, &stack, line),
            }
        }
        Self(lines)
    }

    /// The line of a pointer, from 1; 0: not known.
    pub(crate) fn line(&self, pointer: &str) -> usize {
        self.0.get(pointer).copied().unwrap_or(0)
    }
}

fn note(lines: &mut HashMap<String, usize>, stack: &[Frame], line: usize) {
    let mut pointer = String::new();
    for frame in stack {
        pointer.push('/');
        match frame {
            Frame::Array(index) => pointer.push_str(&index.to_string()),
            Frame::Object(key) => pointer.push_str(key),
        }
    }
    lines.entry(pointer).or_insert(line);
}
