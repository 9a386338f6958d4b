//! `skilljail gen`.

use super::Io;
use crate::cli::GenCommand;
use crate::exit::Exit;

/// Runs the command.
pub fn run(_args: &GenCommand, io: &mut Io<'_>) -> Exit {
    drop(writeln!(io.err, "skilljail: gen: not in this build"));
    Exit::Failed
}
