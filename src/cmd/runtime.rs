//! `skilljail runtime`.

use super::Io;
use crate::cli::RuntimeCommand;
use crate::exit::Exit;

/// Runs the command.
pub fn run(_args: &RuntimeCommand, io: &mut Io<'_>) -> Exit {
    drop(writeln!(io.err, "skilljail: runtime: not in this build"));
    Exit::Failed
}
