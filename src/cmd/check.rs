//! `skilljail check`.

use super::Io;
use crate::cli::CheckArgs;
use crate::exit::Exit;

/// Runs the command.
pub fn run(_args: &CheckArgs, io: &mut Io<'_>) -> Exit {
    drop(writeln!(io.err, "skilljail: check: not in this build"));
    Exit::Failed
}
