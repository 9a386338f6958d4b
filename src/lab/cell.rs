//! One run of the battery in the laboratory: the battery's canaries in a world of its own, a jail with walls left out.

use super::control::{Failure, Trial, told};
use super::document::Document;
use super::naive::Got;
use super::words::{CellArgs, What};
use super::world::{self, Side};
use crate::attack::live::{Key, Live};
use crate::cli::RunArgs;
use crate::cmd::{Io, launch, run};
use crate::exit::Exit;
use crate::layer::mounts::{Flag, Op, Source};
use crate::layer::without::{Wall, Without};
use crate::plan::Plan;
use crate::policy::Policy;
use crate::report::{Report, Status, Stream};
use crate::supervisor::laboratory::Experiment;
use crate::supervisor::{Outcome, account};
use crate::sys::clone3::{Cloned, clone3};
use crate::sys::exit_group;
use serde::Serialize;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

/// What the battery reads: the document, and what happened in the world.
#[derive(Debug, Serialize)]
struct CellDocument {
    touched: Vec<String>,
    dead: Vec<String>,
    texts: Vec<(String, String)>,
    #[serde(flatten)]
    document: Document,
}

/// Runs `cell`.
pub fn cell(args: &CellArgs, io: &mut Io<'_>) -> Exit {
    let What::Run(run) = &args.what else {
        drop(writeln!(io.err, "skilljail-lab: cell: the battery runs scripts only"));
        return Exit::Usage;
    };
    told(go(args, run, io), io)
}

fn go(args: &CellArgs, words: &RunArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let without = args.walls.without()?;
    let canary = std::fs::canonicalize(&args.canary)?;
    if without.has(Wall::SupervisorPackage)
        && let Some(document) = read_package(words, &canary, without)
    {
        return write(&document, io);
    }
    let policy = Policy::load(&words.policy)?;
    let settings = launch::Settings::new(&policy, words.timeout.as_deref(), words.out.as_deref())?;
    let mut known = Report::empty(Status::SetupFailed);
    let mut checked = match run::check(words, policy, settings.wall, &mut known, &mut launch::Laps::default())
    {
        Ok(checked) => checked,
        Err(refused) => {
            known.status = refused.status;
            return write(&empty(known, without), io);
        }
    };
    let mut trial =
        Trial { experiment: Experiment { without, let_through: None }, canary: Some(canary), trace: None };
    trial.change(&mut checked.plan, &checked.policy);
    open_canary(&mut checked.plan, without);
    if let Side::Outside(code) = world::enter(&checked.policy.file().outer_ids, &mut checked.plan)? {
        return Ok(Exit::Script(code));
    }
    let mut live = Live::set_out(&args.canary, Key::set_out(), false)?;
    let variables = live.variables()?;
    let start = |role: &str| {
        run::supervise(words, &checked, &settings, None, |mut job| {
            job.literals.extend(variables.clone());
            job.literals.retain(|(name, _)| name != "CANARY_ROLE");
            job.literals.push(("CANARY_ROLE".to_owned(), role.to_owned()));
            trial.enter(job)
        })
    };
    if args.pair
        && let Cloned::Child = clone3(0, None)?
    {
        drop(start("sender"));
        exit_group::exit_now(0);
    }
    let outcome = start("receiver").map_err(|refused| refused.error)?;
    let mut report = account::report(&outcome, &checked.plan, checked.policy.filter());
    run::complete(&mut report, known, &checked);
    let mut got = Got::default();
    if without.has(Wall::SupervisorArtifacts) {
        got = collect(&outcome);
    } else {
        settings.collect(&outcome, &checked.plan, &mut report);
    }
    report.stdout = Some(Stream::new(&outcome.stdout));
    report.stderr = Some(Stream::new(&outcome.stderr));
    let mut touched = live.touched();
    let secrets = live.secrets();
    let streams = [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)];
    for (what, bytes) in streams {
        let text = String::from_utf8_lossy(bytes);
        let seen = secrets.iter().filter(|(_, secret)| text.contains(secret.as_str()));
        touched.extend(seen.map(|(whose, _)| format!("{what} has a secret: {whose}")));
    }
    if nix::unistd::gethostname().is_ok_and(|name| name != world::HOSTNAME) {
        touched.push("the world was renamed".to_owned());
    }
    touched.extend(got.harm);
    let dead = if touched.is_empty() { live.dead() } else { Vec::new() };
    let document = Document::new(report, without, None);
    write(&CellDocument { touched, dead, texts: got.texts, document }, io)
}

fn empty(mut known: Report, without: Without) -> CellDocument {
    known.stdout = Some(Stream::new(&[]));
    known.stderr = Some(Stream::new(&[]));
    let document = Document::new(known, without, None);
    CellDocument { touched: Vec::new(), dead: Vec::new(), texts: Vec::new(), document }
}

/// A naive reader of the package, where something of it reaches further than a package may.
fn read_package(words: &RunArgs, canary: &Path, without: Without) -> Option<CellDocument> {
    let got = Got::read(Path::new(&words.skill));
    let secret = std::fs::read_to_string(canary.join("secret")).ok()?;
    // Its own environment holds the proof, and is what the supervisor would read as well.
    let own = Path::new(&words.skill).join(".skillenv");
    let texts: Vec<_> = got.texts.into_iter().filter(|(path, _)| Path::new(path) != own).collect();
    let beyond = texts.iter().any(|(_, text)| text.contains(secret.trim_end()));
    if !beyond && got.harm.is_empty() {
        return None;
    }
    let mut document = empty(Report::empty(Status::SkillRejected), without);
    document.touched = got.harm;
    document.texts = texts;
    Some(document)
}

/// A naive collector, which follows on the host whatever lies in the workdir.
fn collect(outcome: &Outcome) -> Got {
    let Some(workdir) = &outcome.workdir else { return Got::default() };
    Got::read(&PathBuf::from(format!("/proc/self/fd/{}/out", workdir.as_raw_fd())))
}

/// Where the old root is not all gone, the world's /proc is there as well.
fn open_canary(plan: &mut Plan, without: Without) {
    if without.has(Wall::MountsRoot) {
        plan.mounts.root_inodes += 1;
        plan.mounts.ops.push(Op::Bind {
            source: Source::Host(PathBuf::from("/proc")),
            path: "/proc".to_owned(),
            flags: vec![Flag::Ro, Flag::Nosuid, Flag::Nodev, Flag::Noexec],
            reason: "the laboratory: what is left of the old root".to_owned(),
        });
    }
}

fn write(document: &CellDocument, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let text = serde_json::to_string(document)?;
    io.out.write_all(text.as_bytes())?;
    io.out.flush()?;
    Ok(Exit::Success)
}
