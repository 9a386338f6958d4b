//! `skilljail run`: one script of a skill.

use super::audit_log::AuditLog;
use super::result::{self, Destination};
use super::{Io, ahead, egress, inputs, launch};
use crate::cli::RunArgs;
use crate::digest;
use crate::exit::Exit;
use crate::host::Host;
use crate::plan::{Content, FileFact, Inputs, Plan, PlanError, Program, Python};
use crate::policy::{Contract, Limits, Policy};
use crate::report::{Report, RuntimeDigest, Status};
use crate::runtime::{self, Runtime, RuntimeError, Verified, Verify};
use crate::skill::contract::ScriptContract;
use crate::skill::env::{MAX_BYTES, MissingSecrets, parse_secrets};
use crate::skill::input::Input;
use crate::skill::load::Loaded;
use crate::skill::manifest::Manifest;
use crate::skill::{self, Skill};
use crate::supervisor::prepare::Secrets;
use crate::supervisor::warm::Caller;
use crate::supervisor::{self, Job, Outcome, Stdin};
use crate::target;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::error::Error;
use std::io::IsTerminal as _;
use std::time::Duration;

/// The key of a skill's `metadata` that names the shipped requirement set that its scripts import.
const REQUIREMENTS: &str = "requirements";

/// Why a run was refused before there was a jail: the status and the stable id go into the document.
pub(crate) struct Refusal {
    pub(crate) status: Status,
    id: &'static str,
    pub(crate) error: Box<dyn Error>,
}

fn refusal<E: Error + 'static>(status: Status, id: &'static str) -> impl Fn(E) -> Refusal {
    move |error| Refusal { status, id, error: Box::new(error) }
}

fn skill_refused_by_plan(error: PlanError) -> Refusal {
    refusal(Status::SkillRejected, "skill_rejected")(error)
}

/// What was asked for, opened and checked, in the order of the design.
pub(crate) struct Checked {
    pub(crate) policy: Policy,
    skill: Skill,
    loaded: Loaded,
    // None: it comes later (`--warm`).
    input: Option<Input>,
    pub(super) late_digest: OnceCell<String>,
    files: Vec<inputs::InputFile>,
    certificates: egress::CaBundle,
    runtime: Runtime,
    pub(crate) plan: Plan,
}

impl Checked {
    pub(super) fn skill(&self) -> &Skill {
        &self.skill
    }
}

/// Runs the command.
pub fn run(args: &RunArgs, io: &mut Io<'_>) -> Exit {
    launch::keep_owner_bits();
    if let Err(error) = launch::check_ids(args.session.as_deref(), args.robot.as_deref()) {
        return launch::usage(&error, io);
    }
    let (mut to, audit) = match open_targets(args) {
        Ok(opened) => opened,
        Err(error) => return launch::usage(&error, io),
    };
    let mut known = Report::empty(Status::SetupFailed);
    let mut laps = launch::Laps::default();
    known.script = Some(args.script.clone());
    let policy = match Policy::load(&args.policy) {
        Ok(policy) => policy,
        Err(error) => {
            let refused = refusal(Status::PolicyRejected, "policy_rejected")(error);
            return refuse(&refused, known, audit.as_ref(), to, io);
        }
    };
    laps.lap("policy");
    let settings = match launch::Settings::new(&policy, args.timeout.as_deref(), args.out.as_deref()) {
        Ok(settings) => settings,
        Err(error) => return launch::usage(&error, io),
    };
    let ahead = match ahead::limits(args, policy.limits()) {
        Ok(ahead) => ahead,
        Err(error) => return launch::usage(&error, io),
    };
    if args.input.is_none() && std::io::stdin().is_terminal() {
        // Whoever forgot it sits before a program that seems to do nothing.
        let what = "reading the input, one JSON object, from the terminal (Ctrl-D ends it)";
        drop(writeln!(io.err, "skilljail: {what}"));
    }
    let checked = match check(args, policy, settings.wall, &mut known, &mut laps) {
        Ok(checked) => checked,
        Err(refused) => return refuse(&refused, known, audit.as_ref(), to, io),
    };
    if args.secrets.is_some() && checked.skill.env().secrets.is_empty() {
        let name = checked.skill.name();
        drop(writeln!(
            io.err,
            "skilljail: --secrets is not read: the skill {name} declares none in .skillenv"
        ));
    }
    let caller = ahead.map(|ahead| ahead::caller(ahead, args, &checked, to.report.as_ref()));
    let outcome = match supervise(args, &checked, &settings, caller, supervisor::run) {
        Ok(outcome) => outcome,
        Err(refused) => return refuse(&refused, known, audit.as_ref(), to, io),
    };
    let mut report = supervisor::account::report(&outcome, &checked.plan, checked.policy.filter());
    complete(&mut report, known, &checked);
    report.timings = args.timings.then(|| laps.with(&outcome));
    settings.collect(&outcome, &checked.plan, &mut report);
    log(audit.as_ref(), &report, io);
    to.passed_on = outcome.stdout_passed_on;
    result::tell(report, &outcome.stdout, &outcome.stderr, to, io)
}

fn open_targets(args: &RunArgs) -> Result<(Destination, Option<AuditLog>), target::TargetError> {
    let report = args.report.as_deref().map(|word| target::create("--report", word)).transpose()?;
    let audit = args.audit.as_deref().map(AuditLog::open).transpose()?;
    Ok((Destination { report, json: args.json, passed_on: 0 }, audit))
}

/// Opens and checks everything; `known` is what a refusal can already say.
pub(crate) fn check(
    args: &RunArgs,
    mut policy: Policy,
    wall: Duration,
    known: &mut Report,
    laps: &mut launch::Laps,
) -> Result<Checked, Refusal> {
    launch::check_cgroup(args.cgroup.as_deref()).map_err(refusal(Status::SetupFailed, "cgroup_missing"))?;
    let skill_refused = |error| refusal(Status::SkillRejected, "skill_rejected")(error);
    let path = skill::find(args.skills.as_deref(), &args.skill).map_err(skill_refused)?;
    let skill = Skill::open(&path).map_err(skill_refused)?;
    known.skill = Some(skill.name().to_owned());
    let script = skill.script(&args.script).map_err(skill_refused)?;
    if policy.file().contract == Contract::Required {
        skill.require_contract().map_err(skill_refused)?;
    }
    let loaded = skill.load().map_err(skill_refused)?;
    known.digests.skill = Some(loaded.digest().to_string());
    laps.lap("skill");
    if let Some(manifest) = &args.manifest {
        check_manifest(manifest, &skill, &loaded)?;
    }
    egress::settle(&mut policy, &skill).map_err(refusal(Status::SkillRejected, "network_refused"))?;
    policy.narrow_egress(&args.egress_allow).map_err(refusal(Status::PolicyRejected, "egress_allow"))?;
    let limits = policy.limits();
    let input = if args.warm { None } else { Some(input(args, script.contract, limits, wall, known)?) };
    laps.lap("input");
    let files =
        inputs::read_files(&args.inputs, limits).map_err(refusal(Status::InputRejected, "in_rejected"))?;
    let runtime_refused = |error: RuntimeError| match error {
        // The skill asks for a set that there is not.
        RuntimeError::Requirements { .. } => refusal(Status::SkillRejected, "requirements")(error),
        error => refusal(Status::SetupFailed, "runtime")(error),
    };
    let set = skill.front().metadata.iter().find(|(key, _)| key == REQUIREMENTS).map(|(_, set)| set);
    let root = runtime::find(args.runtime.as_deref())
        .map_err(|error| runtime_refused(error.for_set(set.map(String::as_str))))?;
    let runtime = Runtime::open(&root, Verify::Identity).map_err(runtime_refused)?;
    check_runtime(&policy, &runtime)?;
    if let Some(set) = set {
        runtime.needs(set).map_err(runtime_refused)?;
    }
    laps.lap("runtime");
    let script = script.path.to_owned();
    let program = program(args, &loaded, &runtime, script);
    let host = launch::host_facts(&Host::quick(), args.cgroup.is_some());
    let facts = |path: &str, bytes: &[u8]| FileFact { path: path.to_owned(), bytes: bytes.len() as u64 };
    let certificates = egress::CaBundle::read(&policy).map_err(refusal(Status::SetupFailed, "ca_bundle"))?;
    let inputs = Inputs {
        ca_bundle: certificates.fact(),
        files: files.iter().map(|file| facts(&file.name, &file.bytes)).collect(),
    };
    let mut plan = Plan::build(&policy, &program, &inputs, &host).map_err(|error| match error {
        // A file of the package stands where the jail has its own.
        PlanError::Collision { .. } => skill_refused_by_plan(error),
        _ => refusal(Status::SetupFailed, "plan")(error),
    })?;
    plan.policy_modified = !args.egress_allow.is_empty();
    if args.warm {
        plan.rlimits.start_ahead(policy.limits());
    }
    laps.lap("plan");
    let late_digest = OnceCell::new();
    Ok(Checked { policy, skill, loaded, input, late_digest, files, certificates, runtime, plan })
}

fn input(
    args: &RunArgs,
    contract: Option<&ScriptContract>,
    limits: &Limits,
    wall: Duration,
    known: &mut Report,
) -> Result<Input, Refusal> {
    let bytes = inputs::read_input(args.input.as_deref(), limits.input_bytes.value, wall)
        .map_err(refusal(Status::InputRejected, "input_unreadable"))?;
    known.digests.input = Some(digest::sha256(&bytes));
    Input::check(contract, &bytes, limits.input_bytes.value)
        .map_err(refusal(Status::InputRejected, "input_rejected"))
}

fn check_manifest(path: &std::path::Path, skill: &Skill, loaded: &Loaded) -> Result<(), Refusal> {
    let refused = |error: Box<dyn Error>| Refusal { status: Status::SkillRejected, id: "manifest", error };
    let bytes =
        inputs::read_bounded(path, inputs::MAX_MANIFEST_BYTES).map_err(|error| refused(error.into()))?;
    let manifest = Manifest::parse(&bytes).map_err(|error| {
        let source = Box::new(error);
        refused(Box::new(BadManifest { path: path.display().to_string(), source }))
    })?;
    manifest.verify(skill, loaded).map_err(refusal(Status::SkillRejected, "manifest_drift"))
}

/// The manifest is there and is none. The caller's fault.
#[derive(Debug, thiserror::Error)]
#[error("--manifest {path}: {source}")]
struct BadManifest {
    path: String,
    source: Box<dyn Error>,
}

/// The policy pins another tree than the one that is there. The operator's fault.
#[derive(Debug, thiserror::Error)]
#[error(
    "the policy pins the runtime {wanted}, and this one is {found}\nhint: `--runtime DIR` names another tree"
)]
struct Unpinned {
    wanted: String,
    found: String,
}

fn check_runtime(policy: &Policy, runtime: &Runtime) -> Result<(), Refusal> {
    match &policy.file().runtime.digest {
        Some(wanted) if wanted != runtime.digest() => {
            let error = Unpinned { wanted: wanted.clone(), found: runtime.digest().to_owned() };
            Err(refusal(Status::SetupFailed, "runtime_not_pinned")(error))
        }
        _ => Ok(()),
    }
}

fn program(args: &RunArgs, loaded: &Loaded, runtime: &Runtime, script: String) -> Program {
    let id = |name: &str, value: &Option<String>| (name.to_owned(), value.clone().unwrap_or_default());
    Program::Script {
        python: Python {
            usr: runtime.root().join("usr"),
            interpreter: runtime.interpreter_path(),
            loader: runtime.loader_path(),
            argv_prefix: runtime.argv_prefix().to_vec(),
            environment: runtime
                .env()
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
            digest: runtime.digest().to_owned(),
        },
        files: loaded
            .files
            .iter()
            .map(|file| FileFact { path: file.path.clone(), bytes: file.bytes.len() as u64 })
            .collect(),
        script,
        ids: vec![id("TFROBOT_SESSION_ID", &args.session), id("TFROBOT_ROBOT_ID", &args.robot)],
    }
}

/// Makes the job, and lets `run` run it.
pub(crate) fn supervise(
    args: &RunArgs,
    checked: &Checked,
    settings: &launch::Settings,
    warm: Option<Caller<'_>>,
    run: impl FnOnce(Job<'_>) -> Outcome,
) -> Result<Outcome, Refusal> {
    let skill_files: HashMap<&str, &[u8]> =
        checked.loaded.files.iter().map(|file| (file.path.as_str(), &file.bytes[..])).collect();
    let input_files: HashMap<&str, &[u8]> =
        checked.files.iter().map(|file| (file.name.as_str(), &file.bytes[..])).collect();
    let files = |content: &Content| match content {
        Content::Skill(path) => skill_files.get(path.as_str()).map(|bytes| bytes.to_vec()),
        Content::Input(name) => input_files.get(name.as_str()).map(|bytes| bytes.to_vec()),
        Content::CaBundle(_) => checked.certificates.bytes(),
        Content::Text(text) => Some(text.clone().into_bytes()),
    };
    let exec = checked
        .runtime
        .interpreter()
        .try_clone_to_owned()
        .map_err(refusal(Status::SetupFailed, "runtime"))?;
    let job = Job {
        plan: &checked.plan,
        filter: checked.policy.filter(),
        exec,
        stdin: checked.input.as_ref().map_or(Stdin::Later, |input| Stdin::Bytes(input.bytes().to_vec())),
        files: &files,
        literals: checked.skill.env().literals.clone(),
        secrets: secrets(args, &checked.skill),
        warm,
        // A terminal gets no byte that was not looked at.
        stream: args.stream && !std::io::stdout().is_terminal(),
        wall: settings.wall,
        cgroup: args.cgroup.as_deref(),
    };
    Ok(run(job))
}

/// How the secrets will be read, after clone; none where the skill declares none, whatever was handed over.
fn secrets<'a>(args: &'a RunArgs, skill: &'a Skill) -> Option<Secrets<'a>> {
    let wanted = &skill.env().secrets;
    if wanted.is_empty() {
        return None;
    }
    Some(Box::new(move || {
        let bytes = match &args.secrets {
            Some(word) => {
                target::read("--secrets", word, MAX_BYTES as u64).map_err(|error| super::chain(&error))?
            }
            None => Vec::new(),
        };
        let word = args.secrets.as_deref().unwrap_or_default();
        let secrets =
            parse_secrets(&bytes).map_err(|error| format!("--secrets {word}: {}", super::chain(&error)))?;
        let missing: Vec<String> = skill.env().missing(&secrets).into_iter().map(str::to_owned).collect();
        if !missing.is_empty() {
            return Err(super::chain(&MissingSecrets(missing)));
        }
        let pairs = wanted.iter().filter_map(|name| Some((name, secrets.value(name)?)));
        Ok(pairs.flat_map(|(name, value)| format!("{name}={value}\0").into_bytes()).collect())
    }))
}

/// Adds what only the command knows.
pub(crate) fn complete(report: &mut Report, known: Report, checked: &Checked) {
    report.skill = known.skill;
    report.script = known.script;
    report.digests.skill = known.digests.skill;
    report.digests.input = known.digests.input.or_else(|| checked.late_digest.get().cloned());
    let verified = match checked.runtime.verified() {
        Verified::Full => "full",
        Verified::Identity => "identity",
    };
    report.digests.runtime = Some(RuntimeDigest { digest: checked.runtime.digest().to_owned(), verified });
    if !matches!(report.status, Status::SetupFailed | Status::InputRejected) {
        report.secrets.clone_from(&checked.skill.env().secrets);
    }
}

fn refuse(
    refused: &Refusal,
    mut known: Report,
    audit: Option<&AuditLog>,
    to: Destination,
    io: &mut Io<'_>,
) -> Exit {
    known.status = refused.status;
    log(audit, &known, io);
    result::refuse_with(known, refused.id, refused.error.as_ref(), to, io)
}

fn log(audit: Option<&AuditLog>, report: &Report, io: &mut Io<'_>) {
    let Some(audit) = audit else { return };
    let fields = [
        ("skill", report.skill.clone().into()),
        ("script", report.script.clone().into()),
        ("status", serde_json::to_value(report.status).unwrap_or_default()),
        ("skill_digest", report.digests.skill.clone().into()),
        ("input_digest", report.digests.input.clone().into()),
    ];
    if let Err(error) = audit.write("run", &fields) {
        drop(writeln!(io.err, "skilljail: --audit: {error}"));
    }
}
