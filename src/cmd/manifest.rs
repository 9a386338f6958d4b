//! `skilljail manifest`.

use super::Io;
use crate::cli::ManifestCommand;
use crate::exit::Exit;

/// Runs the command.
pub fn run(_args: &ManifestCommand, io: &mut Io<'_>) -> Exit {
    drop(writeln!(io.err, "skilljail: manifest: not in this build"));
    Exit::Failed
}
