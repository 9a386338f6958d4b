//! The input of `run` and the files of `--in`, read whole and bounded before anything is cloned.

use crate::policy::Limits;
use crate::target::{PATIENCE, open_to_read, read_all, read_file};
use std::io;
use std::path::Path;
use std::time::Duration;

/// A manifest is at most this large.
pub const MAX_MANIFEST_BYTES: u64 = 64 << 20;
/// A file's name in /workdir/in.
const MAX_NAME: usize = 255;

/// What is wrong with what came in. The caller's fault.
#[derive(Debug, thiserror::Error)]
pub enum InputsError {
    /// The input cannot be read.
    #[error("{what}: {source}")]
    Read {
        /// What.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// The input never ends.
    #[error("{what}: {source}\nhint: close it after the JSON, or name a file with --input")]
    NoEnd {
        /// What.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// `--in` is not NAME=FILE.
    #[error("--in {word}: not NAME=FILE\nhint: `--in data.csv=./export.csv` puts it at /workdir/in/data.csv")]
    Shape {
        /// What was given.
        word: String,
    },
    /// The name cannot be one.
    #[error(
        "--in {name:?}: a name is 1 to {MAX_NAME} bytes without `/` and control characters, and not `.` or `..`\nhint: the part before the first `=` is the name in /workdir/in"
    )]
    Name {
        /// What was given.
        name: String,
    },
    /// A name stands twice.
    #[error("--in {name:?} is given twice\nhint: give one of the files another name")]
    Twice {
        /// The name.
        name: String,
    },
    /// More files than the policy allows.
    #[error(
        "--in: {count} files, the policy allows {most}\nhint: pack them into one, or raise limits.in_files in a policy of your own"
    )]
    Count {
        /// How many.
        count: usize,
        /// How many may be.
        most: u64,
    },
    /// More bytes than the policy allows.
    #[error(
        "--in {name:?}: all files together have more than the {most} bytes that the policy allows\nhint: hand over less, or raise limits.in_total in a policy of your own"
    )]
    Bytes {
        /// The file that was too much.
        name: String,
        /// How many may be.
        most: u64,
    },
}

/// A file for /workdir/in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// Its name there.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The caller's JSON, from `--input` or stdin, for which the caller may take as long as the script may. One byte more
/// than may be is read, so that the check can refuse it.
pub fn read_input(file: Option<&Path>, most: u64, wall: Duration) -> Result<Vec<u8>, InputsError> {
    let read = match file.filter(|path| *path != Path::new("-")) {
        Some(path) => open_to_read(path).and_then(|file| read_all(file, most + 1, wall)),
        None => read_all(io::stdin(), most + 1, wall),
    };
    read.map_err(|source| {
        let what = file.map_or("stdin".to_owned(), |path| format!("--input {}", path.display()));
        if source.kind() == io::ErrorKind::TimedOut {
            return InputsError::NoEnd { what, source };
        }
        InputsError::Read { what, source }
    })
}

/// A whole file of at most `most` bytes.
pub fn read_bounded(path: &Path, most: u64) -> Result<Vec<u8>, InputsError> {
    read_file(path, most).map_err(|source| InputsError::Read { what: path.display().to_string(), source })
}

/// Reads every `NAME=FILE`.
pub fn read_files(words: &[String], limits: &Limits) -> Result<Vec<InputFile>, InputsError> {
    if words.len() as u64 > limits.in_files.value {
        return Err(InputsError::Count { count: words.len(), most: limits.in_files.value });
    }
    let most = limits.in_total_bytes.value;
    let mut files: Vec<InputFile> = Vec::new();
    let mut left = most;
    for word in words {
        let (name, path) = word.split_once('=').ok_or_else(|| InputsError::Shape { word: word.clone() })?;
        let name = name.to_owned();
        let plain = !name.is_empty()
            && name.len() <= MAX_NAME
            && !matches!(name.as_str(), "." | "..")
            && !name.chars().any(|c| c == '/' || c.is_control());
        if !plain {
            return Err(InputsError::Name { name });
        }
        if files.iter().any(|file| file.name == name) {
            return Err(InputsError::Twice { name });
        }
        let bytes = open_to_read(path.as_ref())
            .and_then(|file| read_all(file, left + 1, PATIENCE))
            .map_err(|source| InputsError::Read { what: format!("--in {name}: {path}"), source })?;
        left = left
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| InputsError::Bytes { name: name.clone(), most })?;
        files.push(InputFile { name, bytes });
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::{InputsError, read_files};
    use crate::policy::Policy;

    fn read(words: &[&str]) -> Result<usize, InputsError> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        read_files(&words, Policy::load("default").unwrap().limits()).map(|files| files.len())
    }

    #[test]
    fn names_are_plain_and_distinct() {
        assert!(matches!(read(&["a=/dev/null", "b=/dev/null"]), Ok(2)));
        assert!(matches!(read(&["a"]), Err(InputsError::Shape { .. })));
        for name in ["", ".", "..", "a/b", "a\nb"] {
            assert!(
                matches!(read(&[&format!("{name}=/dev/null")]), Err(InputsError::Name { .. })),
                "{name:?}"
            );
        }
        assert!(matches!(read(&["a=/dev/null", "a=/dev/null"]), Err(InputsError::Twice { .. })));
        assert!(matches!(read(&["a=/nonexistent"]), Err(InputsError::Read { .. })));
    }

    #[test]
    fn count_and_bytes_are_bounded() {
        let many: Vec<String> = (0..17).map(|n| format!("f{n}=/dev/null")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(matches!(read(&many), Err(InputsError::Count { count: 17, most: 16 })));
        assert!(matches!(read(&["endless=/dev/zero"]), Err(InputsError::Bytes { .. })));
    }
}
