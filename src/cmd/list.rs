//! `skilljail list`.

use super::Io;
use crate::cli::ListArgs;
use crate::exit::Exit;

/// Runs the command.
pub fn run(_args: &ListArgs, io: &mut Io<'_>) -> Exit {
    drop(writeln!(io.err, "skilljail: list: not in this build"));
    Exit::Failed
}
