//! How a run is told: streams, the result document, the jail's own message, the exit code.

use super::{Io, terminal};
use crate::exit::Exit;
use crate::report::{Error, Report, Status, Stream};
use crate::skill::finding::shown;
use crate::target::{Patient, READER_PATIENCE};
use std::fs::File;
use std::io::{IsTerminal as _, Write as _};

/// Where the document goes.
#[derive(Debug, Default)]
pub struct Destination {
    /// `--report`.
    pub report: Option<File>,
    /// `--json`.
    pub json: bool,
    /// So many bytes of stdout were passed on as they came.
    pub passed_on: usize,
}

/// The exit code of a finished run.
pub fn exit(report: &Report) -> Exit {
    match report.status {
        Status::Ok => Exit::Success,
        Status::ScriptError => Exit::Script(report.exit_code.unwrap_or(1)),
        Status::Signaled => Exit::Signal(report.signal.and_then(|s| u8::try_from(s).ok()).unwrap_or(9)),
        Status::Timeout | Status::CpuLimit => Exit::Timeout,
        Status::MemoryLimit | Status::DiskLimit | Status::ProcessLimit => Exit::ResourceLimit,
        Status::OutputLimit => Exit::OutputLimit,
        Status::KilledByPolicy => Exit::KilledByPolicy,
        Status::InputRejected => Exit::InputRejected,
        Status::SkillRejected => Exit::SkillRejected,
        Status::PolicyRejected => Exit::PolicyRejected,
        Status::SetupFailed => Exit::SetupFailed,
        Status::SupervisorFailed => Exit::Failed,
        Status::Cancelled if report.signal == Some(libc::SIGINT) => Exit::Interrupted,
        // SIGTERM, and SIGHUP, by which a terminal that goes away asks for the same.
        Status::Cancelled => Exit::Terminated,
    }
}

/// Tells a finished run; `stdout` and `stderr` are the script's bytes.
pub fn tell(mut report: Report, stdout: &[u8], stderr: &[u8], mut to: Destination, io: &mut Io<'_>) -> Exit {
    // An output that is over its limit is not half printed.
    let stdout = if report.status == Status::OutputLimit { &[] } else { stdout };
    report.digests.stdout = Some(crate::digest::sha256(stdout));
    let code = exit(&report);
    let to_terminal = (std::io::stdout().is_terminal(), std::io::stderr().is_terminal());
    let mut told = Ok(());
    if let Some(file) = &mut to.report {
        let mut document = report.clone();
        if to.json {
            document.stdout = Some(Stream::new(stdout));
            document.stderr = Some(Stream::new(stderr));
        }
        // Unlike stdout, whose reader may have had enough, a report that nobody took is a report that is lost.
        told = Patient::new(&*file, READER_PATIENCE)
            .write_all(document.to_json().as_bytes())
            .map_err(|error| std::io::Error::other(format!("--report: {error}")));
    }
    if to.json {
        report.stdout = Some(Stream::new(stdout));
        report.stderr = Some(Stream::new(stderr));
        told = told
            .and(io.out.write_all(terminal::json(&report.to_json(), to_terminal.0).as_bytes()))
            .and(io.out.flush());
    } else {
        let rest = stdout.get(to.passed_on..).unwrap_or_default();
        told = told.and(io.out.write_all(&terminal::output(rest, to_terminal.0))).and(io.out.flush());
        told = told.and(io.err.write_all(&terminal::output(stderr, to_terminal.1)));
        if let Some(error) = &report.error {
            if stderr.last().is_some_and(|byte| *byte != b'\n') {
                told = told.and(io.err.write_all(b"\n"));
            }
            say(error, io);
        }
        for line in remarks(&report) {
            told = told.and(writeln!(io.err, "skilljail: {line}"));
        }
    }
    match told {
        // As of a report: a result that is not where the caller wanted it is no success.
        Ok(()) if unsaved(&report) && matches!(code, Exit::Success) => Exit::Failed,
        Ok(()) => code,
        // Nobody is there to be told: the caller closed its end.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => code,
        Err(error) => {
            drop(writeln!(io.err, "skilljail: the result could not be written: {error}"));
            Exit::Failed
        }
    }
}

/// Artifacts that are told one by one on stderr.
const MAX_TOLD: usize = 5;

/// Whether an artifact that the policy lets out is lost, because the caller's folder did not take it.
fn unsaved(report: &Report) -> bool {
    report.artifacts.iter().any(|artifact| artifact.unsaved)
}

/// What the egress part of the policy refused. A program is told only that there is no such name or nobody there.
fn not_reached(report: &Report) -> Option<String> {
    let mut places: Vec<String> = report.refused_places().map(|place| shown(&place)).collect();
    places.dedup();
    let (first, rest) = places.split_at(places.len().min(MAX_TOLD));
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    (!first.is_empty()).then(|| {
        format!(
            "refused by the policy's egress: {}{more} (`egress` of the document, --report FILE, tells why)",
            first.join(", ")
        )
    })
}

/// What the caller must know of a run beside its end, in lines for stderr; the document has the whole of it.
fn remarks(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    if report.denials_total > 0 {
        let mut calls: Vec<&str> = report.denials.iter().map(|denial| denial.syscall.as_str()).collect();
        calls.dedup();
        lines.push(format!(
            "denied by the filter: {} ({} in all; --report FILE tells why, and what would allow them)",
            calls.join(", "),
            report.denials_total
        ));
    }
    lines.extend(not_reached(report));
    let refused: Vec<_> =
        report.artifacts.iter().filter_map(|one| Some((&one.path, one.refused.as_ref()?))).collect();
    for (path, why) in refused.iter().take(MAX_TOLD) {
        lines.push(format!("--out: not taken: {}: {why}", shown(path)));
    }
    if refused.len() > MAX_TOLD {
        lines.push(format!(
            "--out: {} more were not taken (`artifacts` of the document)",
            refused.len() - MAX_TOLD
        ));
    }
    if unsaved(report) {
        lines.push("--out keeps what is in it and takes nothing of the same name\nhint: name a new directory for each run".to_owned());
    }
    lines
}

fn say(error: &Error, io: &mut Io<'_>) {
    // A closed stderr must not turn a message into a panic.
    drop(writeln!(io.err, "skilljail: {}", error.cause));
    if let Some(hint) = &error.hint {
        drop(writeln!(io.err, "hint: {hint}"));
    }
}

/// Tells a run that was refused before there was a jail.
pub fn refuse(
    status: Status,
    id: &str,
    error: &(dyn std::error::Error + 'static),
    to: Destination,
    io: &mut Io<'_>,
) -> Exit {
    refuse_with(Report::empty(status), id, error, to, io)
}

/// The same with a document in which more is known already.
pub fn refuse_with(
    mut report: Report,
    id: &str,
    error: &(dyn std::error::Error + 'static),
    to: Destination,
    io: &mut Io<'_>,
) -> Exit {
    let text = super::chain(error);
    let (cause, hint) = match text.split_once("\nhint: ") {
        Some((cause, hint)) => (cause.to_owned(), Some(hint.to_owned())),
        None => (text, None),
    };
    report.error = Some(Error { id: id.to_owned(), layer: None, step: None, errno: None, cause, hint });
    tell(report, &[], &[], to, io)
}
