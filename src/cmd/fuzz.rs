//! `skilljail fuzz`.

use super::Io;
use crate::attack::residue;
use crate::cli::FuzzArgs;
use crate::exit::Exit;
use crate::fuzz::{hunt, inside};
use crate::policy::Policy;
use crate::render::text::tty_safe;
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::time::Duration;

/// How many lines of the distribution are shown without `--verbose`.
const LINES: usize = 25;
/// A program is at most this large.
const MOST: u64 = 8 << 20;

/// Runs the command.
pub fn run(args: &FuzzArgs, io: &mut Io<'_>) -> Exit {
    if let Err(error) = Policy::load(&args.policy) {
        io.tell(&error);
        return Exit::PolicyRejected;
    }
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => {
            io.tell(&error);
            return Exit::Failed;
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let settings = hunt::Settings {
        program,
        policy: args.policy.clone(),
        seed: args.seed,
        time: Duration::from_secs(args.seconds),
        jobs: args.jobs.unwrap_or(cores),
        out: args.out.clone(),
    };
    let terminal = std::io::stderr().is_terminal();
    let progress = |programs: u64, calls: u64| {
        if terminal {
            drop(write!(std::io::stderr(), "\r{programs} programs, {calls} calls"));
        }
    };
    let before = match residue::Snapshot::take() {
        Ok(before) => before,
        Err(error) => {
            io.tell(&error);
            return Exit::Failed;
        }
    };
    let bag = match hunt::hunt(&settings, &progress) {
        Ok(bag) => bag,
        Err(error) => {
            io.tell(&error);
            return Exit::Failed;
        }
    };
    let left = before.left();
    if tell(&bag, &left, args, cores.min(settings.jobs), io).is_err() {
        return Exit::Failed;
    }
    if bag.findings.is_empty() && left.is_empty() && bag.calls() > 0 { Exit::Success } else { Exit::Findings }
}

fn tell(
    bag: &hunt::Bag,
    left: &[String],
    args: &FuzzArgs,
    cores: usize,
    io: &mut Io<'_>,
) -> std::io::Result<()> {
    let lines = bag.distribution();
    let shown = if args.verbose { lines.len() } else { LINES.min(lines.len()) };
    for line in lines.iter().take(shown) {
        writeln!(io.out, "{line}")?;
    }
    if shown < lines.len() {
        writeln!(io.out, "… and {} more (--verbose)", lines.len() - shown)?;
    }
    let calls = bag.calls().max(1);
    let per_core =
        calls * 1_000 / u64::try_from(bag.took.as_millis()).unwrap_or(1).max(1) / (cores.max(1) as u64);
    writeln!(
        io.out,
        "seed {}: {} programs ({} broke their interpreter), {} calls, {per_core} a second and core, {} % neither EPERM nor ENOSYS, {} killed for their entry",
        args.seed,
        bag.programs,
        bag.broken,
        bag.calls(),
        bag.beyond() * 100 / calls,
        bag.killed,
    )?;
    for finding in &bag.findings {
        let what = tty_safe(&finding.what.join("; ")).into_owned();
        writeln!(io.out, "found in batch {}: {what}\n  {}", finding.batch, finding.folder.display())?;
    }
    for left in left {
        writeln!(io.out, "left behind: {}", tty_safe(left))?;
    }
    writeln!(io.out, "findings: {}", bag.findings.len() + left.len())
}

/// The interpreter, in the jail.
pub fn inside(io: &mut Io<'_>) -> Exit {
    let mut text = String::new();
    let read = std::io::stdin().take(MOST).read_to_string(&mut text);
    match read.and_then(|_| inside::run(&text, io.out)) {
        Ok(()) => Exit::Success,
        Err(error) => {
            io.tell(&error);
            Exit::Failed
        }
    }
}
