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

/// What happened, then every cause that the text does not hold already; a `hint:` line stays last.
pub fn chain(error: &dyn std::error::Error) -> String {
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
    text
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
