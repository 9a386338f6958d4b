//! SHA-256 as a value.

use sha2::{Digest as _, Sha256};
use std::fmt;

/// A SHA-256 digest; shown and parsed as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// From 64 lower-case hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// Of a set of files, the digest of a skill: of the text that `sha256sum` prints for them,
    ///
    /// ```text
    /// <64 hex digits, lower case><two spaces><path relative to the skill><newline>
    /// ```
    ///
    /// one line a file, sorted by the bytes of the path. Paths have no backslash and no control character, so that no line is
    /// ambiguous. Anybody can recompute it with
    /// `find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum` inside the folder
    /// (without what the jail does not get: protected files and `__pycache__`).
    pub fn of_files<'a>(files: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        let mut lines: Vec<(&str, Self)> = files.into_iter().collect();
        lines.sort_unstable();
        let mut hasher = Sha256::new();
        for (path, digest) in lines {
            hasher.update(format!("{digest}  {path}\n"));
        }
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_there_and_back() {
        let digest = Digest::of(b"abc");
        let text = digest.to_string();
        assert_eq!(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(Digest::from_hex(&text), Some(digest));
        assert_eq!(Digest::from_hex(&text.to_uppercase()), None);
        assert_eq!(Digest::from_hex(&text[1..]), None);
        assert_eq!(Digest::from_hex(&"é".repeat(32)), None);
    }

    #[test]
    fn order_of_the_files_does_not_matter_but_names_do() {
        let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
        let both = Digest::of_files([("x", a), ("y", b)]);
        assert_eq!(both, Digest::of_files([("y", b), ("x", a)]));
        assert_ne!(both, Digest::of_files([("x", b), ("y", a)]));
        assert_eq!(both, Digest::of(format!("{a}  x\n{b}  y\n").as_bytes()));
    }
}
