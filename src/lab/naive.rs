//! What stands in the place of the supervisor's checks when they are left out: readers as somebody in a hurry writes them.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

/// What a naive reader got, or what became of it.
#[derive(Debug, Default)]
pub struct Got {
    /// What it read: file and text.
    pub texts: Vec<(String, String)>,
    /// What would have done harm.
    pub harm: Vec<String>,
    count: u32,
}

const MOST_BYTES: u64 = 64 << 20;
const MOST_FILES: u32 = 2_000;
const MOST_DEPTH: usize = 16;

impl Got {
    /// Reads everything below a directory, following what there is to follow.
    pub fn read(dir: &Path) -> Self {
        let mut got = Self::default();
        got.enter(dir, 0);
        got
    }

    fn enter(&mut self, dir: &Path, depth: usize) {
        if depth > MOST_DEPTH {
            return self.hurt(dir, "deeper than any stack");
        }
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            self.count += 1;
            if self.count > MOST_FILES {
                return self.hurt(dir, "more files than any list");
            }
            self.file(&entry.path(), depth);
        }
    }

    fn hurt(&mut self, path: &Path, what: &str) {
        // Once is enough.
        if !self.harm.iter().any(|harm| harm.ends_with(what)) {
            self.harm.push(format!("{}: {what}", path.display()));
        }
    }

    fn file(&mut self, path: &Path, depth: usize) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.chars().any(char::is_control) {
            self.hurt(path, "a name that drives a terminal or splits a line");
        }
        let Ok(meta) = fs::metadata(path) else { return };
        if meta.is_dir() {
            return self.enter(path, depth + 1);
        }
        if meta.file_type().is_fifo() || meta.file_type().is_socket() {
            return self.hurt(path, "a reader waits for ever");
        }
        if meta.nlink() > 1 {
            self.hurt(path, "a second name of a file");
        }
        if meta.mode() & 0o6000 != 0 {
            self.hurt(path, "runs as its owner, whoever executes it");
        }
        if meta.len() > MOST_BYTES {
            return self.hurt(path, "fills every disk");
        }
        let text = fs::read(path).unwrap_or_default();
        self.texts.push((path.display().to_string(), String::from_utf8_lossy(&text).into_owned()));
    }
}
