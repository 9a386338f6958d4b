//! `FILE|fd:N`: where a document goes or a secret comes from.

use crate::sys::fd;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;

/// A word that is no file and no open descriptor.
#[derive(Debug, thiserror::Error)]
#[error("{option} {word}: {source}{}", hint(.word))]
pub struct TargetError {
    option: &'static str,
    word: String,
    source: io::Error,
}

fn hint(word: &str) -> &'static str {
    if word.starts_with("fd:") {
        "\nhint: fd:N names a descriptor that the caller left open, such as `fd:3` with `3>result.json`"
    } else {
        ""
    }
}

fn descriptor(word: &str) -> Option<io::Result<File>> {
    let number = word.strip_prefix("fd:")?;
    let adopt = || {
        let number: i32 = number.parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        if number < 3 {
            // 0 to 2 are the script's streams' way out.
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "fd:0 to fd:2 are the standard streams"));
        }
        fd::adopt(number).map(File::from)
    };
    Some(adopt())
}

/// Opens for writing: a new or emptied file that only its owner reads, or a descriptor.
pub fn create(option: &'static str, word: &str) -> Result<File, TargetError> {
    let file = descriptor(word)
        .unwrap_or_else(|| OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(word));
    file.map_err(|source| TargetError { option, word: word.to_owned(), source })
}

/// Opens for appending.
pub fn append(option: &'static str, word: &str) -> Result<File, TargetError> {
    let file = descriptor(word)
        .unwrap_or_else(|| OpenOptions::new().append(true).create(true).mode(0o600).open(word));
    file.map_err(|source| TargetError { option, word: word.to_owned(), source })
}

/// Opens for reading.
pub fn open(option: &'static str, word: &str) -> Result<File, TargetError> {
    descriptor(word).unwrap_or_else(|| File::open(word)).map_err(|source| TargetError {
        option,
        word: word.to_owned(),
        source,
    })
}
