//! The laboratory: never installed. Parse, dispatch, exit code.

use clap::Parser as _;
use skilljail::{cmd, lab};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words = lab::words::Words::parse();
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    ExitCode::from(lab::dispatch(&words, &mut cmd::Io { out: &mut out, err: &mut err }).code())
}
