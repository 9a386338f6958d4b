//! `skilljail doctor`.

use super::Io;
use crate::cli::DoctorArgs;
use crate::exit::Exit;

/// Runs the command.
pub fn run(_args: &DoctorArgs, io: &mut Io<'_>) -> Exit {
    drop(writeln!(io.err, "skilljail: doctor: not in this build"));
    Exit::Failed
}
