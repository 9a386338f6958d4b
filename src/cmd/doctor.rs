//! `skilljail doctor`: asks the host, prints the check-up. Exit 0 when all that the default policy needs holds.

use super::Io;
use crate::cli::{DataFormat, DoctorArgs};
use crate::exit::Exit;
use crate::host::Diagnosis;
use crate::host::checkup::{Check, Checkup, Status};
use std::io::{self, Write};

/// Runs the command.
pub fn run(args: &DoctorArgs, io: &mut Io<'_>) -> Exit {
    #[cfg(feature = "review")]
    if let Some(word) = &args.policy {
        return of_policy(word, args.format, io);
    }
    let checkup = Checkup::perform(args.cgroup.as_deref());
    let written = match args.format {
        DataFormat::Text => text(&checkup, io.out),
        DataFormat::Json => serde_json::to_writer_pretty(&mut *io.out, &checkup)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(io.out)),
    };
    match written.and_then(|()| io.out.flush()) {
        Err(error) => unwritten(&error, io),
        Ok(()) if checkup.ok => Exit::Success,
        Ok(()) => Exit::Findings,
    }
}

/// The verdict did not reach whoever asked whole.
fn unwritten(error: &io::Error, io: &mut Io<'_>) -> Exit {
    io.tell(error);
    Exit::Failed
}

/// What of a policy would not hold here: by the release, and by the Landlock ABI that the kernel itself tells. Exit 1 where
/// nothing would run.
#[cfg(feature = "review")]
fn of_policy(word: &str, format: DataFormat, io: &mut Io<'_>) -> Exit {
    use crate::audit::{kernels, representative};
    let policy = match crate::policy::Policy::load(word) {
        Ok(policy) => policy,
        Err(error) => {
            io.tell(&error);
            return Exit::PolicyRejected;
        }
    };
    let host = crate::host::Host::quick();
    let (plan, filter) = match (representative::wanted(&policy), policy.filter().filter()) {
        (Ok(plan), Ok(filter)) => (plan, filter),
        (Err(error), _) => {
            io.tell(&error);
            return Exit::Failed;
        }
        (_, Err(why)) => {
            io.tell(&io::Error::other(why.to_owned()));
            return Exit::Failed;
        }
    };
    let losses = kernels::losses(&policy, &plan, filter, host.kernel.version, host.landlock.abi());
    let written = match format {
        DataFormat::Text => {
            write!(io.out, "{}", crate::render::losses::text(policy.name(), &host.kernel.release, &losses))
        }
        DataFormat::Json => {
            let document = serde_json::json!({ "version": 1, "policy": policy.name(), "kernel": host.kernel.release, "losses": losses });
            writeln!(io.out, "{document:#}")
        }
    };
    match written.and_then(|()| io.out.flush()) {
        Err(error) => unwritten(&error, io),
        Ok(()) if losses.iter().any(|loss| loss.cost == kernels::Cost::NothingRuns) => Exit::Findings,
        Ok(()) => Exit::Success,
    }
}

fn text(checkup: &Checkup, out: &mut dyn Write) -> io::Result<()> {
    let host = &checkup.host;
    write!(out, "Linux {} {}, uid {}", host.kernel.release, host.arch, host.ids.uid)?;
    if let Some(container) = &host.container {
        write!(out, ", in a container ({})", container.evidence)?;
    }
    writeln!(out, "\n\nNeeded by the policy `default`:")?;
    for check in checkup.checks.iter().filter(|check| check.needed) {
        line(check, out)?;
    }
    writeln!(out, "\nGood to have:")?;
    for check in checkup.checks.iter().filter(|check| !check.needed) {
        line(check, out)?;
    }
    writeln!(out)?;
    match &checkup.cause {
        None => writeln!(out, "Everything that the policy `default` needs is here."),
        Some(cause) => tell(cause, out),
    }
}

fn line(check: &Check, out: &mut dyn Write) -> io::Result<()> {
    let mark = match check.status {
        Status::Ok => "ok",
        Status::Missing if check.needed => "MISSING",
        Status::Missing => "no",
        Status::NotTried => "-",
    };
    writeln!(out, "  {mark:<8} {:<28} {}", check.title, check.detail)
}

/// The cause, once, with its evidence and each place's fix.
fn tell(cause: &Diagnosis, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Cause: {} [{}]", cause.what, cause.id())?;
    for fact in &cause.evidence {
        writeln!(out, "  seen: {fact}")?;
    }
    for fix in &cause.fixes {
        writeln!(out, "\nFix ({}):", fix.place)?;
        for line in fix.text.lines() {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}
