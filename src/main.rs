//! Parse, dispatch, exit code.

use clap::Parser as _;
use skilljail::target::{Patient, READER_PATIENCE};
use skilljail::{cli::Cli, cmd};
use std::io::{LineWriter, Write as _};
use std::process::ExitCode;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = LineWriter::new(Patient::new(std::io::stdout(), READER_PATIENCE));
    let mut err = LineWriter::new(Patient::new(std::io::stderr(), READER_PATIENCE));
    let exit = cmd::dispatch(&cli, &mut cmd::Io { out: &mut out, err: &mut err });
    // What a command has to say of its own output it said when it flushed it.
    drop(out.flush());
    drop(err.flush());
    ExitCode::from(exit.code())
}
