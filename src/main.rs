//! Parse, dispatch, exit code.

use clap::Parser as _;
use skilljail::{cli::Cli, cmd};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    ExitCode::from(cmd::dispatch(&cli, &mut cmd::Io { out: &mut out, err: &mut err }).code())
}
