//! The raw words of the laboratory.

use crate::cli::{ExecArgs, RunArgs};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// The laboratory of skilljail: shows what each wall is good for, by leaving it out. Never install it.
#[derive(Debug, Parser)]
#[command(name = "skilljail-lab", version, max_term_width = 100)]
pub struct Words {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run something with walls left out, in a world of the laboratory's own
    Control(ControlArgs),
    /// Run something with denied calls let through, and print the entries that a filter would need
    Trace(TraceArgs),
    /// List the walls that can be left out
    Walls,
}

/// Words of `control`.
#[derive(Debug, Args)]
pub struct ControlArgs {
    /// Leave out these: layers, walls, or `all`
    #[arg(long, value_name = "WALL", value_delimiter = ',', conflicts_with = "only")]
    pub without: Vec<String>,
    /// Leave out everything but these
    #[arg(long, value_name = "WALL", value_delimiter = ',')]
    pub only: Vec<String>,
    /// A directory that is bound to /canary where the wall mounts.root is left out
    #[arg(long, value_name = "DIR")]
    pub canary: Option<PathBuf>,
    /// What runs.
    #[command(subcommand)]
    pub what: What,
}

/// Words of `trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Let through also what fails without being written down (a program takes that for an older kernel)
    #[arg(long)]
    pub all: bool,
    /// What runs.
    #[command(subcommand)]
    pub what: What,
}

/// What runs: the words are those of `skilljail`.
#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "made once per process, read once")]
pub enum What {
    /// One script of a skill
    Run(RunArgs),
    /// Any program
    Exec(ExecArgs),
}
