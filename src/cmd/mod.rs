//! One file per subcommand: words, call, rendering.

use crate::cli::{Cli, Command};
use crate::exit::Exit;
use std::io::Write;

pub mod ahead;
#[cfg(feature = "battery")]
pub mod attack;
pub mod audit_log;
#[cfg(feature = "review")]
pub mod check;
pub mod doctor;
pub mod egress;
pub mod exec;
#[cfg(feature = "battery")]
pub mod fuzz;
#[cfg(feature = "review")]
pub mod generate;
pub mod inputs;
pub mod launch;
pub mod list;
pub mod manifest;
#[cfg(feature = "review")]
pub mod policy;
pub mod read;
pub mod result;
pub mod run;
pub mod runtime;
pub mod terminal;

/// Where a command writes: tests hand over buffers, `main` hands over the real streams.
pub struct Io<'a> {
    /// Standard output.
    pub out: &'a mut dyn Write,
    /// Standard error.
    pub err: &'a mut dyn Write,
}

impl Io<'_> {
    /// Tells an error once.
    pub fn tell(&mut self, error: &(dyn std::error::Error + 'static)) {
        // Whoever closed the pipe has read enough.
        let broken = std::io::ErrorKind::BrokenPipe;
        if error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == broken) {
            return;
        }
        // A closed stderr must not turn an error into a panic.
        drop(writeln!(self.err, "skilljail: {}", chain(error)));
    }
}

/// What happened, then every cause that the text does not hold already; a `hint:` line stays last. Where no part of it says
/// what to do and the system refused a path, there is a hint on what to look at.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            let at = text.find("\nhint: ").unwrap_or(text.len());
            text.insert_str(at, &format!(": {cause_text}"));
        }
        source = cause.source();
    }
    match advice(error).filter(|_| !text.contains("\nhint: ")) {
        Some(hint) => format!("{text}\nhint: {hint}"),
        None => text,
    }
}

/// By the innermost errno of the chain.
fn advice(error: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let codes = causes.filter_map(|cause| {
        let io = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
        io.or_else(|| cause.downcast_ref::<nix::errno::Errno>().map(|errno| *errno as i32))
    });
    Some(match codes.last()? {
        libc::ENOENT => {
            "a relative path starts at the current directory; `namei -l PATH` shows where it breaks off"
        }
        libc::EACCES | libc::EPERM => {
            "`namei -l PATH` shows who owns each directory on the way, and who may enter it"
        }
        libc::EISDIR => "a file is wanted here, not a directory",
        libc::ENOTDIR => "a part of the path is a file, where a directory is wanted",
        libc::ELOOP => "give the path without symbolic links (`realpath PATH` tells it)",
        libc::EROFS => "give a place on a file system that is not read-only",
        libc::ENOSPC | libc::EDQUOT => "make room there, or give another place",
        _ => return None,
    })
}

/// Runs the command that was asked for.
pub fn dispatch(cli: &Cli, io: &mut Io<'_>) -> Exit {
    match &cli.command {
        Command::Run(args) => run::run(args, io),
        Command::Exec(args) => exec::run(args, io),
        #[cfg(feature = "review")]
        Command::Check(args) => check::run(args, io),
        Command::List(args) => list::run(args, io),
        Command::Read(args) => read::run(args, io),
        Command::Manifest(command) => manifest::run(command, io),
        Command::Runtime(command) => runtime::run(command, io),
        #[cfg(feature = "review")]
        Command::Policy(command) => policy::run(command, io),
        Command::Doctor(args) => doctor::run(args, io),
        #[cfg(feature = "battery")]
        Command::Attack(args) => attack::run(args, io),
        #[cfg(feature = "battery")]
        Command::Fuzz(args) => fuzz::run(args, io),
        #[cfg(feature = "battery")]
        Command::FuzzInside => fuzz::inside(io),
        #[cfg(feature = "review")]
        Command::Gen(command) => generate::run(command, io),
    }
}
