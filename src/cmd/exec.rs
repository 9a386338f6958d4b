//! `skilljail exec`: any program in the same jail.

use super::result::{self, Destination};
use super::{Io, egress, launch};
use crate::cli::ExecArgs;
use crate::exit::Exit;
use crate::host::Host;
use crate::plan::{Inputs, Plan, Program, RoBind, is_plain};
use crate::policy::Policy;
use crate::report::Status;
use crate::supervisor::{self, Job, Stdin, program};
use crate::target;
use std::path::{Path, PathBuf};

/// What is wrong with the words of `exec`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExecError {
    #[error("--ro-bind {word}: {source}")]
    Bind { word: String, source: std::io::Error },
    #[error(
        "{program}: not an absolute path\nhint: `exec` searches no PATH; give the path that the program has inside the jail"
    )]
    Relative { program: String },
    #[error(
        "{program}: nothing that is bound holds it\nhint: `--ro-bind /usr --ro-bind /lib --ro-bind /lib64` brings the host's programs and libraries"
    )]
    NotBound { program: String },
    #[error(
        "{program}: it needs the ELF loader {loader}, and nothing that is bound holds {missing}\nhint: `--ro-bind /usr --ro-bind /lib --ro-bind /lib64` brings the host's programs and libraries; a static program needs none"
    )]
    NoLoader { program: String, loader: String, missing: String },
    #[error("{program}: {source}")]
    Program { program: String, source: program::ProgramError },
}

/// Runs the command.
pub fn run(args: &ExecArgs, io: &mut Io<'_>) -> Exit {
    launch::keep_owner_bits();
    let mut to = Destination { json: args.json, ..Destination::default() };
    match args.report.as_deref().map(|word| target::create("--report", word)).transpose() {
        Ok(file) => to.report = file,
        Err(error) => {
            io.tell(&error);
            return Exit::Usage;
        }
    }
    let mut laps = launch::Laps::default();
    let mut policy = match Policy::load(&args.policy) {
        Ok(policy) => policy,
        Err(error) => return result::refuse(Status::PolicyRejected, "policy_rejected", &error, to, io),
    };
    if let Err(error) = policy.narrow_egress(&args.egress_allow) {
        return result::refuse(Status::PolicyRejected, "egress_allow", &error, to, io);
    }
    laps.lap("policy");
    let settings = match launch::Settings::new(&policy, args.timeout.as_deref(), args.out.as_deref()) {
        Ok(settings) => settings,
        Err(error) => return launch::usage(&error, io),
    };
    let (program, exec) = match find(args) {
        Ok(found) => found,
        Err(error) => return launch::usage(&error, io),
    };
    laps.lap("program");
    if let Err(error) = launch::check_cgroup(args.cgroup.as_deref()) {
        return result::refuse(Status::SetupFailed, "cgroup_missing", &error, to, io);
    }
    let host = launch::host_facts(&Host::quick(), args.cgroup.is_some());
    let certificates = match egress::CaBundle::read(&policy) {
        Ok(certificates) => certificates,
        Err(error) => return result::refuse(Status::SetupFailed, "ca_bundle", &error, to, io),
    };
    let inputs = Inputs { ca_bundle: certificates.fact(), ..Inputs::default() };
    let plan = match Plan::build(&policy, &program, &inputs, &host) {
        Ok(mut plan) => {
            plan.policy_modified |= !args.egress_allow.is_empty();
            plan
        }
        Err(error) => return result::refuse(Status::SetupFailed, "plan", &error, to, io),
    };
    laps.lap("plan");
    let job = Job {
        plan: &plan,
        filter: policy.filter(),
        exec,
        stdin: Stdin::Relay,
        files: &|_| certificates.bytes(),
        literals: Vec::new(),
        secrets: None,
        warm: None,
        stream: false,
        wall: settings.wall,
        cgroup: args.cgroup.as_deref(),
    };
    let outcome = supervisor::run(job);
    let mut report = supervisor::account::report(&outcome, &plan, policy.filter());
    report.script = args.program.first().cloned();
    report.timings = args.timings.then(|| laps.with(&outcome));
    settings.collect(&outcome, &plan, &mut report);
    result::tell(report, &outcome.stdout, &outcome.stderr, to, io)
}

/// The program and what it needs, on the host.
pub(crate) fn find(args: &ExecArgs) -> Result<(Program, std::os::fd::OwnedFd), ExecError> {
    let binds = args.ro_bind.iter().map(|word| bind(word)).collect::<Result<Vec<_>, _>>()?;
    let (program, rest) =
        args.program.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    if !is_plain(program) {
        return Err(ExecError::Relative { program: program.to_owned() });
    }
    let host = on_host(&binds, program).ok_or_else(|| ExecError::NotBound { program: program.to_owned() })?;
    let found =
        program::open(&host).map_err(|source| ExecError::Program { program: program.to_owned(), source })?;
    if let Some(loader) = &found.loader
        && let Some(missing) = missing(&binds, loader)
    {
        let (program, loader) = (program.to_owned(), loader.clone());
        return Err(ExecError::NoLoader { program, loader, missing });
    }
    let program =
        Program::Exec { program: program.to_owned(), loader: found.loader, args: rest.to_vec(), binds };
    Ok((program, found.file))
}

fn bind(word: &str) -> Result<RoBind, ExecError> {
    let (source, path) = word.split_once(':').unwrap_or((word, word));
    let source =
        std::fs::canonicalize(source).map_err(|source| ExecError::Bind { word: word.to_owned(), source })?;
    let directory = source.is_dir();
    Ok(RoBind { source, path: path.trim_end_matches('/').to_owned(), directory })
}

/// The host's path of a path in the jail.
fn on_host(binds: &[RoBind], program: &str) -> Option<PathBuf> {
    binds.iter().find_map(|bind| {
        let rest = Path::new(program).strip_prefix(&bind.path).ok()?;
        Some(if rest.as_os_str().is_empty() { bind.source.clone() } else { bind.source.join(rest) })
    })
}

/// What of a path, or of the links that it leads over, is not in the jail.
fn missing(binds: &[RoBind], path: &str) -> Option<String> {
    let mut path = PathBuf::from(path);
    // As many as the kernel follows.
    for _ in 0..40 {
        let host = path
            .to_str()
            .and_then(|path| on_host(binds, path))
            .filter(|host| host.symlink_metadata().is_ok());
        let Some(host) = host else { return Some(path.display().to_string()) };
        let Ok(target) = host.read_link() else { return None };
        path = path.parent().unwrap_or(Path::new("/")).join(target);
    }
    Some(path.display().to_string())
}
