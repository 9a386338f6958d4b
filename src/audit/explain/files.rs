//! What the mounts and Landlock say to a call with a path.

use super::call::Call;
use super::{Answer, Verdict};
use crate::audit::sentences::within;
use crate::layer::landlock::Grant;
use crate::layer::mounts::{Op, Source};
use crate::plan::Plan;

/// What a call wants to do with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Intent {
    /// Look at its properties.
    Look,
    /// Read it, or list it.
    Read,
    /// Change what is in it, or its properties.
    Write,
    /// Make it, remove it or rename it.
    Make,
    /// Execute it.
    Execute,
}

fn intents(call: &Call) -> Vec<Intent> {
    use Intent::{Execute, Look, Make, Read, Write};
    match call.syscall().name.as_str() {
        "open" | "openat" => {
            // Both architectures number these alike.
            let flags = call.number("flags").unwrap_or(0);
            let mut wants = match flags & 3 {
                0 => vec![Read],
                1 => vec![Write],
                _ => vec![Read, Write],
            };
            if flags & 0o100 != 0 {
                wants.push(Make);
            }
            if flags & 0o1000 != 0 && !wants.contains(&Write) {
                wants.push(Write);
            }
            wants
        }
        "creat" => vec![Write, Make],
        "execve" | "execveat" => vec![Execute],
        "mkdir" | "mkdirat" | "mknod" | "mknodat" | "unlink" | "unlinkat" | "rmdir" | "rename"
        | "renameat" | "renameat2" | "link" | "linkat" | "symlink" | "symlinkat" => vec![Make],
        "truncate" | "chmod" | "fchmodat" | "fchmodat2" | "chown" | "lchown" | "fchownat" | "utime"
        | "utimes" | "utimensat" | "setxattr" | "lsetxattr" | "removexattr" => vec![Write],
        _ => vec![Look],
    }
}

/// What is at a path.
struct Found {
    what: String,
    /// It is there for sure, surely not, or only a run can tell.
    exists: Option<bool>,
    writable: bool,
    reason: String,
}

/// `.` and `..` resolved by words alone; relative paths start in the working directory.
fn normal(path: &str, cwd: &str) -> String {
    let full = if path.starts_with('/') { path.to_owned() } else { format!("{cwd}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in full.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Links of the plan, once.
fn linked(plan: &Plan, path: &str) -> String {
    for op in &plan.mounts.ops {
        if let Op::Symlink { path: link, target } = op
            && within(path, link)
        {
            let rest = path.get(link.len()..).unwrap_or_default();
            return normal(&format!("/{}{rest}", target.trim_start_matches('/')), "/");
        }
    }
    path.to_owned()
}

fn find(plan: &Plan, path: &str) -> Found {
    let mut best: Option<(&str, Found)> = None;
    for op in &plan.mounts.ops {
        let (above, found) = match op {
            Op::Bind { source: Source::Device(_), path: at, reason, .. } if at == path => (
                at,
                Found {
                    what: "a device file".to_owned(),
                    exists: Some(true),
                    writable: true,
                    reason: reason.clone(),
                },
            ),
            Op::Bind { source: Source::Runtime(_) | Source::Host(_), path: at, reason, .. }
                if within(path, at) =>
            {
                (
                    at,
                    Found {
                        what: format!("{at}, bound read-only: {reason}"),
                        exists: (at == path).then_some(true),
                        writable: false,
                        reason: reason.clone(),
                    },
                )
            }
            Op::Tmpfs { path: at, reason, .. } if within(path, at) => (
                at,
                Found {
                    what: format!("{at}, a tmpfs of this run"),
                    exists: (at == path).then_some(true),
                    writable: true,
                    reason: reason.clone(),
                },
            ),
            Op::Alias { path: at, from, reason } if within(path, at) => (
                at,
                Found {
                    what: format!("{at}, which is {from} of this run's tmpfs"),
                    exists: (at == path).then_some(true),
                    writable: true,
                    reason: reason.clone(),
                },
            ),
            Op::Place { path: at, reason } if within(path, at) => (
                at,
                Found {
                    what: format!("{at}, read-only: {reason}"),
                    exists: (at == path).then_some(true),
                    writable: false,
                    reason: reason.clone(),
                },
            ),
            Op::File { path: at, .. } if at == path => (
                at,
                Found {
                    what: "a made file of the read-only root, not the host's".to_owned(),
                    exists: Some(true),
                    writable: false,
                    reason: "nothing of the host is needed there".to_owned(),
                },
            ),
            Op::Dir { path: at, .. } if at == path => (
                at,
                Found {
                    what: "a directory of the read-only root".to_owned(),
                    exists: Some(true),
                    writable: false,
                    reason: "part of the jail's own tree".to_owned(),
                },
            ),
            _ => continue,
        };
        // Later operations lie over earlier ones; deeper places over what is above them.
        if best.as_ref().is_none_or(|(other, _)| above.len() >= other.len()) {
            best = Some((above, found));
        }
    }
    if let Some((_, found)) = best {
        return found;
    }
    if within(path, "/skill") {
        let what = "/skill, the skill's verified files, read-only".to_owned();
        return Found {
            what,
            exists: None,
            writable: false,
            reason: "a run reaches its own skill only".to_owned(),
        };
    }
    let exists = path == "/";
    let what = if exists {
        "the read-only root".to_owned()
    } else {
        "nothing: the jail's root holds only what the plan lists".to_owned()
    };
    Found {
        what,
        exists: Some(exists),
        writable: false,
        reason: "the host's files are not in the jail".to_owned(),
    }
}

fn granted(plan: &Plan, path: &str, intent: Intent) -> Option<(String, String)> {
    let fits = |grant: Grant| match intent {
        Intent::Look => true,
        Intent::Read => matches!(
            grant,
            Grant::Read | Grant::ReadFile | Grant::Execute | Grant::ReadWriteFile | Grant::Work
        ),
        Intent::Write => matches!(grant, Grant::ReadWriteFile | Grant::Work),
        Intent::Make => grant == Grant::Work,
        Intent::Execute => grant == Grant::Execute,
    };
    let rule = plan.landlock.rules.iter().find(|rule| within(path, &rule.path) && fits(rule.grant))?;
    Some((rule.path.clone(), rule.reason.clone()))
}

/// The answers of mounts and Landlock, for the first path that is refused, or else for the first path.
pub(super) fn answers(plan: &Plan, call: &Call) -> Vec<Answer> {
    let wants = intents(call);
    let mut last = Vec::new();
    for path in call.paths() {
        let path = linked(plan, &normal(path, &plan.payload.cwd));
        let found = find(plan, &path);
        let answers = vec![mounted(&path, &found, &wants), landlocked(plan, &path, &wants)];
        let refused = answers.iter().any(|answer| answer.verdict == Verdict::Refused);
        if refused || last.is_empty() {
            last = answers;
        }
        if refused {
            break;
        }
    }
    last
}

fn mounted(path: &str, found: &Found, wants: &[Intent]) -> Answer {
    let changes = wants.iter().any(|want| matches!(want, Intent::Write | Intent::Make));
    let made = wants.contains(&Intent::Make);
    let (verdict, errno) = match (found.exists, found.writable) {
        // In a read-only file system a missing name cannot be made either.
        (Some(false), _) => (
            Verdict::Refused,
            Some(if made { "EROFS, or ENOENT where the directory is missing" } else { "ENOENT" }),
        ),
        (_, true) if wants.contains(&Intent::Execute) => (Verdict::Refused, Some("EACCES (noexec)")),
        (Some(true), false) if changes => {
            (Verdict::Refused, Some("EACCES, or EROFS where the file's own mode would allow it"))
        }
        (None, false) if changes => {
            (Verdict::Refused, Some("EROFS, EACCES, or ENOENT where it is not there"))
        }
        (None, false) => (Verdict::Depends, Some("ENOENT where it is not there")),
        (Some(true), _) | (None, true) => (Verdict::Allowed, None),
    };
    Answer {
        layer: "mounts",
        verdict,
        what: format!("{path} is {}", found.what),
        rule: None,
        reason: Some(found.reason.clone()),
        place: None,
        errno: errno.map(str::to_owned),
    }
}

fn landlocked(plan: &Plan, path: &str, wants: &[Intent]) -> Answer {
    let missing = wants.iter().find(|want| granted(plan, path, **want).is_none());
    let rule = wants.first().and_then(|want| granted(plan, path, *want));
    Answer {
        layer: "landlock",
        verdict: if missing.is_some() { Verdict::Refused } else { Verdict::Allowed },
        what: match (missing, &rule) {
            (Some(want), _) => {
                format!("no rule on a path above {path} grants to {}", format!("{want:?}").to_lowercase())
            }
            (None, Some((above, _))) => format!("granted by the rule on {above}"),
            (None, None) => "nothing is asked of it".to_owned(),
        },
        rule: rule.as_ref().map(|(above, _)| above.clone()),
        reason: rule.map(|(_, reason)| reason),
        place: None,
        errno: missing.map(|_| "EACCES".to_owned()),
    }
}
