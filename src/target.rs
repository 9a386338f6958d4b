//! The words `FILE|fd:N`: a path, or a descriptor that the caller left open.

use crate::sys::fcntl::duplicate;
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The file behind the words cannot be opened, read or written: the caller's fault.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// It does not open.
    #[error("{option} {word}: {source}")]
    Open {
        /// The option.
        option: &'static str,
        /// Its value.
        word: String,
        /// Why.
        source: std::io::Error,
    },
    /// It holds more than it may.
    #[error("{option} {word}: more than {max} bytes")]
    TooLong {
        /// The option.
        option: &'static str,
        /// Its value.
        word: String,
        /// The bound.
        max: u64,
    },
}

fn open(option: &'static str, word: &str, options: &OpenOptions) -> Result<File, TargetError> {
    let fail = |source| TargetError::Open { option, word: word.to_owned(), source };
    match word.strip_prefix("fd:") {
        Some(number) => {
            let number: i32 = number.parse().ok().filter(|number| *number >= 0).ok_or_else(|| {
                fail(std::io::Error::new(std::io::ErrorKind::InvalidInput, "not the number of a descriptor"))
            })?;
            duplicate(number).map(File::from).map_err(|errno| fail(errno.into()))
        }
        None => options.open(Path::new(word)).map_err(fail),
    }
}

/// Opens a target for appending; a file is made with mode 0600 if there is none.
///
/// # Errors
///
/// See [`TargetError`].
pub fn append(option: &'static str, word: &str) -> Result<File, TargetError> {
    open(option, word, OpenOptions::new().append(true).create(true).mode(0o600))
}

/// Opens a target for a new document: an emptied file that only its owner reads. 0 to 2 are refused: the script's
/// streams leave by them.
///
/// # Errors
///
/// See [`TargetError`].
pub fn create(option: &'static str, word: &str) -> Result<File, TargetError> {
    if matches!(word, "fd:0" | "fd:1" | "fd:2") {
        let source = std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            "that is a standard stream\nhint: open another, such as `--report fd:3 3>result.json`",
        );
        return Err(TargetError::Open { option, word: word.to_owned(), source });
    }
    open(option, word, OpenOptions::new().write(true).create(true).truncate(true).mode(0o600))
}

/// Reads a whole target of at most `max` bytes.
///
/// # Errors
///
/// See [`TargetError`].
pub fn read(option: &'static str, word: &str, max: u64) -> Result<Vec<u8>, TargetError> {
    let file = open(option, word, OpenOptions::new().read(true))?;
    let mut bytes = Vec::new();
    let result = file.take(max.saturating_add(1)).read_to_end(&mut bytes);
    result.map_err(|source| TargetError::Open { option, word: word.to_owned(), source })?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= max) {
        return Ok(bytes);
    }
    Err(TargetError::TooLong { option, word: word.to_owned(), max })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

    #[test]
    fn files_and_descriptors() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t").to_str().unwrap().to_owned();
        append("--audit", &path).unwrap().write_all(b"a").unwrap();
        let kept = File::options().append(true).open(&path).unwrap();
        append("--audit", &format!("fd:{}", kept.as_raw_fd())).unwrap().write_all(b"b").unwrap();
        assert_eq!(read("--secrets", &path, 2).unwrap(), b"ab");
        assert!(matches!(read("--secrets", &path, 1), Err(TargetError::TooLong { .. })));
        for word in ["fd:", "fd:-1", "fd:x", "fd:99999999999", "fd:900000", "/nowhere/x"] {
            assert!(append("--audit", word).is_err(), "{word}");
        }
    }
}
