//! `skilljail exec`.

use super::Io;
use crate::cli::ExecArgs;
use crate::exit::Exit;

/// Runs the command.
pub fn run(_args: &ExecArgs, io: &mut Io<'_>) -> Exit {
    drop(writeln!(io.err, "skilljail: exec: not in this build"));
    Exit::Failed
}
