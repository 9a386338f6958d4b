//! `control` and `trace`: what `skilljail run` and `exec` do, in the laboratory's world and with an experiment.

use super::canaries::Canaries;
use super::document::Document;
use super::words::{ControlArgs, TraceArgs, What};
use super::world::{self, Side};
use super::{matrix, trace};
use crate::cli::{ExecArgs, RunArgs};
use crate::cmd::{self, Io, exec, launch, run};
use crate::exit::Exit;
use crate::host::Host;
use crate::layer::idmap;
use crate::layer::mounts::{Flag, Op, Source};
use crate::layer::without::{Wall, Without};
use crate::plan::{Inputs, Plan};
use crate::policy::Policy;
use crate::report::{Report, Status, Stream};
use crate::seccomp::Compiled;
use crate::supervisor::laboratory::{self, Experiment};
use crate::supervisor::{Job, Outcome, Stdin, account};
use crate::target;
use std::error::Error;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

pub(super) type Failure = Box<dyn Error>;

/// More than anything here writes, and less than what a host could not bear.
const BOUNDLESS: u64 = 64 << 20;
/// How long a run may take that has no deadline: the laboratory must end, too.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(8);

/// What is done differently.
#[derive(Debug)]
pub struct Trial {
    /// The walls that are left out.
    pub experiment: Experiment,
    /// The directory that is bound to `/canary` where the old root is not all gone.
    pub canary: Option<PathBuf>,
    pub(super) trace: Option<trace::Mode>,
}

/// Runs `control`.
pub fn control(args: &ControlArgs, io: &mut Io<'_>) -> Exit {
    let trial = || -> Result<Trial, Failure> {
        let without = args.walls.without()?;
        let canary = args.canary.as_ref().map(std::fs::canonicalize).transpose()?;
        Ok(Trial { experiment: Experiment { without, let_through: None }, canary, trace: None })
    };
    let Some(what) = &args.what else {
        return told(matrix::control(&args.battery, io), io);
    };
    told(trial().and_then(|trial| go(trial, what, io)), io)
}

/// Runs `trace`.
pub fn trace(args: &TraceArgs, io: &mut Io<'_>) -> Exit {
    let mode = if args.all { trace::Mode::All } else { trace::Mode::Denied };
    let trial = Trial { experiment: Experiment::default(), canary: None, trace: Some(mode) };
    told(go(trial, &args.what, io), io)
}

pub(super) fn told(result: Result<Exit, Failure>, io: &mut Io<'_>) -> Exit {
    result.unwrap_or_else(|error| {
        drop(writeln!(io.err, "skilljail-lab: {}", cmd::chain(error.as_ref())));
        Exit::Failed
    })
}

fn go(trial: Trial, what: &What, io: &mut Io<'_>) -> Result<Exit, Failure> {
    match what {
        What::Run(args) => script(trial, args, io),
        What::Exec(args) => program(trial, args, io),
    }
}

fn script(mut trial: Trial, args: &RunArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    refuse(args.cgroup.as_deref())?;
    if args.warm {
        return Err(NoWarm.into());
    }
    let file = report_file(args.report.as_deref())?;
    let policy = Policy::load(&args.policy)?;
    let settings = launch::Settings::new(&policy, args.timeout.as_deref(), args.out.as_deref())?;
    let mut known = Report::empty(Status::SetupFailed);
    known.script = Some(args.script.clone());
    let mut checked = run::check(args, policy, settings.wall, &mut known, &mut launch::Laps::default())
        .map_err(|refused| refused.error)?;
    trial.change(&mut checked.plan, &checked.policy);
    if let Side::Outside(code) = world::enter(&checked.policy.file().outer_ids, &mut checked.plan)? {
        return Ok(Exit::Script(code));
    }
    let canaries = Canaries::set_out()?;
    let outcome = run::supervise(args, &checked, &settings, None, |job| trial.run(job, &canaries))
        .map_err(|refused| refused.error)?;
    let mut report = account::report(&outcome, &checked.plan, checked.policy.filter());
    run::complete(&mut report, known, &checked);
    settings.collect(&outcome, &checked.plan, &mut report);
    trial.tell(report, &outcome, checked.policy.filter(), &canaries, file, io)
}

fn program(mut trial: Trial, args: &ExecArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    refuse(args.cgroup.as_deref())?;
    let file = report_file(args.report.as_deref())?;
    let policy = Policy::load(&args.policy)?;
    let settings = launch::Settings::new(&policy, args.timeout.as_deref(), args.out.as_deref())?;
    let (program, exec) = exec::find(args)?;
    let host = launch::host_facts(&Host::quick(), false);
    let mut plan = Plan::build(&policy, &program, &Inputs::default(), &host)?;
    trial.change(&mut plan, &policy);
    if let Side::Outside(code) = world::enter(&policy.file().outer_ids, &mut plan)? {
        return Ok(Exit::Script(code));
    }
    let canaries = Canaries::set_out()?;
    let job = Job {
        plan: &plan,
        filter: policy.filter(),
        exec,
        stdin: Stdin::Relay,
        files: &|_| None,
        literals: Vec::new(),
        secrets: None,
        warm: None,
        stream: false,
        wall: settings.wall,
        cgroup: None,
    };
    let outcome = trial.run(job, &canaries);
    let mut report = account::report(&outcome, &plan, policy.filter());
    report.script = args.program.first().cloned();
    settings.collect(&outcome, &plan, &mut report);
    trial.tell(report, &outcome, policy.filter(), &canaries, file, io)
}

/// The words do not fit the laboratory: the caller's fault.
#[derive(Debug, thiserror::Error)]
#[error(
    "--cgroup: the laboratory's world has no cgroup\nhint: leave it out; memory is bounded by rlimits then"
)]
struct NoCgroup;

/// The words do not fit the laboratory: the caller's fault.
#[derive(Debug, thiserror::Error)]
#[error("--warm: the laboratory starts nothing ahead\nhint: leave it out")]
struct NoWarm;

fn refuse(cgroup: Option<&Path>) -> Result<(), NoCgroup> {
    if cgroup.is_some() { Err(NoCgroup) } else { Ok(()) }
}

fn report_file(word: Option<&str>) -> Result<Option<File>, target::TargetError> {
    word.map(|word| target::create("--report", word)).transpose()
}

impl Trial {
    /// Changes what is planned: in the world we are an ordinary user, and a root that is not all new has the canary.
    pub(super) fn change(&mut self, plan: &mut Plan, policy: &Policy) {
        plan.idmap = idmap::plan(idmap::INNER_ID, &policy.file().outer_ids);
        let without = self.experiment.without;
        if without.has(Wall::SupervisorOutput) {
            for bound in
                [&mut plan.limits.stdout_bytes, &mut plan.limits.stderr_bytes, &mut plan.limits.denials]
            {
                bound.value = BOUNDLESS;
            }
        }
        if without.has(Wall::SupervisorDeadline) {
            plan.limits.cpu_s.value = BOUNDLESS >> 20;
        }
        if without.has(Wall::SupervisorEnvironment) {
            // `-I` and its like, which stand before the script.
            plan.payload.argv.retain(|word| !["-I", "-E", "-s", "-P"].contains(&word.as_str()));
        }
        if let Some(mode) = self.trace {
            self.experiment.let_through = Some(trace::program(policy.filter(), mode));
            plan.limits.denials_kept.value = trace::KEPT;
        }
        if let Some(canary) = self.canary.clone().filter(|_| without.has(Wall::MountsRoot)) {
            plan.mounts.root_inodes += 1;
            plan.mounts.ops.push(Op::Bind {
                source: Source::Host(canary),
                path: "/canary".to_owned(),
                flags: vec![Flag::Ro, Flag::Nosuid, Flag::Nodev, Flag::Noexec],
                reason: "the laboratory: what is left of the old root".to_owned(),
            });
        }
    }

    fn run(&self, mut job: Job<'_>, canaries: &Canaries) -> Outcome {
        job.literals.extend(canaries.variables());
        self.enter(job)
    }

    /// Runs the job with what is left of the jail.
    pub(super) fn enter(&self, mut job: Job<'_>) -> Outcome {
        if self.experiment.without.has(Wall::SupervisorEnvironment) {
            let own =
                |name: &String| job.plan.payload.environment.iter().any(|variable| variable.name == *name);
            let inherited: Vec<_> = std::env::vars().filter(|(name, _)| !own(name)).collect();
            job.literals.extend(inherited);
        }
        if self.experiment.without.has(Wall::SupervisorDeadline) {
            job.wall = PATIENCE;
        }
        laboratory::run(job, &self.experiment)
    }

    /// Tells the document, on stdout and where `--report` says; the exit code is that of `skilljail`.
    fn tell(
        &self,
        mut report: Report,
        outcome: &Outcome,
        filter: &Compiled,
        canaries: &Canaries,
        file: Option<File>,
        io: &mut Io<'_>,
    ) -> Result<Exit, Failure> {
        let code = cmd::result::exit(&report);
        report.stdout = Some(Stream::new(&outcome.stdout));
        report.stderr = Some(Stream::new(&outcome.stderr));
        let without = self.experiment.without;
        let document = if self.trace.is_some() {
            let mut document = Document::new(report, Without::parse(&["seccomp"])?, None);
            document.needs = Some(trace::needs(&outcome.denials, filter));
            document
        } else {
            Document::new(report, without, Some(canaries.judge()))
        };
        let text = document.to_json();
        if let Some(mut file) = file {
            file.write_all(text.as_bytes())?;
        }
        io.out.write_all(text.as_bytes())?;
        io.out.flush()?;
        Ok(code)
    }
}
