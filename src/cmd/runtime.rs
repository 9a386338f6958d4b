//! `skilljail runtime`.

use super::Io;
use crate::cli::{DataFormat, RuntimeCommand};
use crate::exit::Exit;
use crate::runtime::build::{Order, Requirements, build};
use crate::runtime::{self, Runtime, RuntimeError, Verify};
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(args: &RuntimeCommand, io: &mut Io<'_>) -> Exit {
    let result = match args {
        RuntimeCommand::Build { python, requirements, out } => {
            make(python.as_deref(), requirements.as_deref(), out.as_deref(), io)
        }
        RuntimeCommand::Verify { runtime, record } => verify(runtime.as_deref(), *record, io),
        RuntimeCommand::Show { runtime, format } => show(runtime.as_deref(), *format, io),
    };
    result.unwrap_or_else(|error| {
        io.tell(&error);
        match error {
            RuntimeError::Interrupted(nix::libc::SIGINT) => Exit::Interrupted,
            RuntimeError::Interrupted(_) => Exit::Terminated,
            _ => Exit::Failed,
        }
    })
}

fn make(
    python: Option<&Path>,
    requirements: Option<&str>,
    out: Option<&Path>,
    io: &mut Io<'_>,
) -> Result<Exit, RuntimeError> {
    let out: PathBuf = match out.map(Path::to_path_buf).or_else(runtime::default_out) {
        Some(out) => out,
        None => return Err(RuntimeError::NoHome { uid: nix::unistd::geteuid().as_raw() }),
    };
    runtime::build::settle_process()?;
    let requirements = requirements.map(Requirements::read).transpose()?;
    let search = std::env::var_os("PATH").unwrap_or_default();
    let order = Order { python, search: &search, requirements: requirements.as_ref(), out: &out };
    let lock = build(&order, &mut |step| drop(writeln!(io.err, "skilljail: {step}")))?;
    for note in &lock.notes {
        drop(writeln!(io.err, "skilljail: note: {note}"));
    }
    drop(writeln!(io.out, "{}\n{}", out.display(), lock.digest));
    Ok(Exit::Success)
}

fn verify(named: Option<&Path>, record: bool, io: &mut Io<'_>) -> Result<Exit, RuntimeError> {
    let root = runtime::find(named)?;
    let (lock, drift) = runtime::drift(&root)?;
    if drift.is_empty() {
        if record {
            runtime::record(&root, &lock)?;
        }
        drop(writeln!(io.out, "{}: {} files as built, {}", root.display(), lock.files.len(), lock.digest));
        return Ok(Exit::Success);
    }
    for difference in &drift {
        drop(writeln!(io.out, "{difference}"));
    }
    drop(writeln!(io.err, "skilljail: {}: {} differences from what was built", root.display(), drift.len()));
    Ok(Exit::Findings)
}

fn show(named: Option<&Path>, format: DataFormat, io: &mut Io<'_>) -> Result<Exit, RuntimeError> {
    let root = runtime::find(named)?;
    let runtime = Runtime::open(&root, Verify::Identity)?;
    match format {
        DataFormat::Json => show_json(&runtime, io),
        DataFormat::Text => show_text(&runtime, io),
    }
    Ok(Exit::Success)
}

fn show_json(runtime: &Runtime, io: &mut Io<'_>) {
    let env: serde_json::Map<String, serde_json::Value> =
        runtime.env().iter().map(|(name, value)| ((*name).to_owned(), value.clone().into())).collect();
    let value = serde_json::json!({
        "path": runtime.root().to_string_lossy(),
        "digest": runtime.digest(),
        "verified": runtime.verified(),
        "python": runtime.python_version(),
        "interpreter": runtime.interpreter_path(),
        "loader": runtime.loader_path(),
        "argv_prefix": runtime.argv_prefix(),
        "env": env,
        "sets": runtime.sets(),
        "packages": runtime.packages(),
    });
    drop(writeln!(io.out, "{value:#}"));
}

fn show_text(runtime: &Runtime, io: &mut Io<'_>) {
    let packages: Vec<String> =
        runtime.packages().iter().map(|package| format!("{} {}", package.name, package.version)).collect();
    let or_none = |text: String| if text.is_empty() { "none".to_owned() } else { text };
    for (name, value) in [
        ("path", runtime.root().display().to_string()),
        ("digest", runtime.digest().to_owned()),
        ("verified", runtime.verified().name().to_owned()),
        ("python", runtime.python_version().to_owned()),
        ("interpreter", runtime.interpreter_path()),
        ("loader", runtime.loader_path()),
        ("sets", or_none(runtime.sets().join(", "))),
        ("packages", or_none(packages.join(", "))),
    ] {
        drop(writeln!(io.out, "{name:<12} {value}"));
    }
}
