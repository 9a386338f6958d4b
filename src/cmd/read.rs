//! `skilljail read`.

use super::Io;
use super::audit_log::AuditLog;
use crate::cli::ReadArgs;
use crate::exit::Exit;
use crate::render::text::tty_safe;
use crate::skill::body::{Values, expand};
use crate::skill::frontmatter::{self, SKILL_MD};
use crate::skill::package::Package;
use crate::skill::{self, read};
use base64::Engine as _;
use std::io::IsTerminal as _;

/// Runs the command.
pub fn run(args: &ReadArgs, io: &mut Io<'_>) -> Exit {
    let audit = match args.audit.as_deref().map(AuditLog::open).transpose() {
        Ok(audit) => audit,
        Err(error) => {
            io.tell(&error);
            return Exit::Failed;
        }
    };
    match text_of(args) {
        Ok((text, note)) => {
            if let Some(note) = note {
                drop(writeln!(io.err, "skilljail: {note}"));
            }
            // A pipe gets the bytes as they are; a terminal must not obey them.
            let safe = if std::io::stdout().is_terminal() { tty_safe(&text) } else { text.as_str().into() };
            if io.out.write_all(safe.as_bytes()).is_ok() { Exit::Success } else { Exit::Failed }
        }
        Err(reason) => {
            // One line, whatever the reason's own form.
            let reason = reason.replace('\n', "; ");
            let line = format!("skilljail: read {} {}: refused: {reason}", args.skill, args.path);
            drop(writeln!(io.err, "{}", tty_safe(&line).replace(['\n', '\t'], " ")));
            let fields = [
                ("verdict", "refused".into()),
                ("skill", args.skill.as_str().into()),
                ("path", args.path.as_str().into()),
                ("reason", reason.into()),
            ];
            if let Some(Err(error)) = audit.map(|log| log.write("read", &fields)) {
                drop(writeln!(io.err, "skilljail: --audit: {error}"));
                return Exit::Failed;
            }
            Exit::ReadRefused
        }
    }
}

/// The text to print and a note for stderr, or the reason why not.
fn text_of(args: &ReadArgs) -> Result<(String, Option<&'static str>), String> {
    let folder = skill::find(args.skills.as_deref(), &args.skill).map_err(|error| error.to_string())?;
    let package = Package::open(&folder).map_err(|error| error.to_string())?;
    let bytes = read::read(&package, &args.path).map_err(|refusal| refusal.to_string())?;
    if args.expand {
        let is_skill_md = args.path == SKILL_MD || args.path.starts_with('/');
        return match String::from_utf8(bytes) {
            _ if !is_skill_md => Err("--expand is for SKILL.md only".to_owned()),
            Ok(text) => expanded(args, &text).map(|text| (text, None)),
            Err(_) => Err("SKILL.md is not UTF-8".to_owned()),
        };
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok((text, None)),
        Ok(text) => Ok((base64(text.as_bytes()), Some("binary file, printed as base64"))),
        Err(error) => Ok((base64(error.as_bytes()), Some("binary file, printed as base64"))),
    }
}

fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes) + "\n"
}

/// SKILL.md with the placeholders of its body expanded; the frontmatter as it is.
fn expanded(args: &ReadArgs, text: &str) -> Result<String, String> {
    let (front, findings) = frontmatter::parse(text.as_bytes());
    if let Some(finding) = findings.iter().find(|finding| finding.refuses_run()) {
        return Err(format!("{}: {} [{}]", finding.place(), finding.what, finding.rule.id));
    }
    let name = front.name.as_deref().unwrap_or_default();
    let skill_dir = Values::skill_dir(front.tier, name);
    let values =
        Values { skill_dir: &skill_dir, session: args.session.as_deref(), robot: args.robot.as_deref() };
    let body = expand(&front.body, front.body_line, &values).map_err(|error| error.to_string())?;
    let head = text.len() - front.body.len();
    Ok(text.get(..head).unwrap_or_default().to_owned() + &body)
}
