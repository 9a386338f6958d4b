//! The audit log (`--audit`): one JSON line an event.
//!
//! Each line is one `write` to a file opened with `O_APPEND`, so that lines of several processes do not mix. A line never
//! holds a value of `.skillenv`, a secret, or content of a file.

use crate::target::{self, TargetError};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// A text in the log is cut here.
const MAX_TEXT: usize = 1_024;

/// An open audit log.
#[derive(Debug)]
pub struct AuditLog(File);

impl AuditLog {
    /// Opens the target of `--audit`.
    ///
    /// # Errors
    ///
    /// The caller's fault: it cannot be opened for appending.
    pub fn open(word: &str) -> Result<Self, TargetError> {
        target::append("--audit", word).map(Self)
    }

    /// Appends one event: `time` (UTC) and `event`, then the fields in their order.
    ///
    /// # Errors
    ///
    /// The operator's fault: the disk is full, the pipe closed. What was to be logged must then not happen.
    pub fn write(&self, event: &str, fields: &[(&str, Value)]) -> std::io::Result<()> {
        let mut line = line(SystemTime::now(), event, fields);
        line.push('\n');
        target::wait_writable(&self.0, target::PATIENCE)?;
        let written = (&self.0).write(line.as_bytes())?;
        if written == line.len() {
            return Ok(());
        }
        Err(std::io::Error::new(std::io::ErrorKind::WriteZero, "the audit log took a part of the line only"))
    }
}

fn line(now: SystemTime, event: &str, fields: &[(&str, Value)]) -> String {
    let mut object = Map::new();
    object.insert("time".to_owned(), timestamp(now).into());
    object.insert("event".to_owned(), event.into());
    for (name, value) in fields {
        object.insert((*name).to_owned(), cut(value));
    }
    Value::Object(object).to_string()
}

fn cut(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > MAX_TEXT => {
            let kept: String = text.chars().take(MAX_TEXT / 4).collect();
            (kept + "…").into()
        }
        other => other.clone(),
    }
}

/// RFC 3339 in UTC with milliseconds.
pub fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

/// Day, month and year of the proleptic Gregorian calendar from days since 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // Whole cycles of 400 years first: the loop below then runs at most 400 times.
    let (mut year, mut left) = (1970 + days / 146_097 * 400, days % 146_097);
    while left >= 365 + u64::from(leap(year)) {
        left -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    (year, month, left + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (4_102_444_800, "2100-01-01T00:00:00.000Z"),
            (13_569_465_600, "2400-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn one_line_an_event_whatever_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = AuditLog::open(path.to_str().unwrap()).unwrap();
        log.write("read", &[("path", "a\nb\u{1b}".into()), ("long", "x".repeat(9_999).into())]).unwrap();
        log.write("run", &[("code", 3.into())]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!((&lines[0]["event"], &lines[0]["path"]), (&"read".into(), &"a\nb\u{1b}".into()));
        assert!(text.len() < 1_000);
    }
}
