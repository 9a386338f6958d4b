//! `skilljail run`.

use super::Io;
use crate::cli::RunArgs;
use crate::exit::Exit;

/// Runs the command.
pub fn run(_args: &RunArgs, io: &mut Io<'_>) -> Exit {
    drop(writeln!(io.err, "skilljail: run: not in this build"));
    Exit::Failed
}
