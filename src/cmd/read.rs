//! `skilljail read`.

use super::Io;
use crate::cli::ReadArgs;
use crate::exit::Exit;

/// Runs the command.
pub fn run(_args: &ReadArgs, io: &mut Io<'_>) -> Exit {
    drop(writeln!(io.err, "skilljail: read: not in this build"));
    Exit::Failed
}
