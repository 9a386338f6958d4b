//! The raw words of the laboratory.

use crate::cli::{ExecArgs, RunArgs};
use crate::layer::without::{UnknownWall, Without};
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
    /// Run something, or each attack of the battery, with walls left out, in a world of the laboratory's own
    Control(ControlArgs),
    /// Each attack of the battery with each layer left out, and with each layer alone
    Matrix(MatrixArgs),
    /// The battery, run by another program that takes the words of `skilljail run`
    Compare(CompareArgs),
    /// One run of the battery, as `control` and `matrix` start it
    #[command(hide = true)]
    Cell(CellArgs),
    /// Run something with denied calls let through, and print the entries that a filter would need
    Trace(TraceArgs),
    /// List the walls that can be left out
    Walls,
}

/// Which walls are left out.
#[derive(Debug, Args)]
pub struct Walls {
    /// Leave out these: layers, walls, or `all`
    #[arg(long, value_name = "WALL", value_delimiter = ',', conflicts_with = "only")]
    pub without: Vec<String>,
    /// Leave out everything but these
    #[arg(long, value_name = "WALL", value_delimiter = ',')]
    pub only: Vec<String>,
}

impl Walls {
    /// As a set.
    ///
    /// # Errors
    /// A word means nothing.
    pub fn without(&self) -> Result<Without, UnknownWall> {
        let named = Without::parse(&self.without)?;
        if self.only.is_empty() { Ok(named) } else { Ok(Without::parse(&self.only)?.all_but()) }
    }
}

/// Words of `control`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = false)]
pub struct ControlArgs {
    /// The walls.
    #[command(flatten)]
    pub walls: Walls,
    /// A directory that is bound to /canary where the wall mounts.root is left out
    #[arg(long, value_name = "DIR")]
    pub canary: Option<PathBuf>,
    /// The battery.
    #[command(flatten)]
    pub battery: BatteryArgs,
    /// What runs; nothing: each attack of the battery, with all its walls down
    #[command(subcommand)]
    pub what: Option<What>,
}

/// What of the battery, and with what.
#[derive(Debug, Args)]
pub struct BatteryArgs {
    /// A shipped profile's name, or a file
    #[arg(long, value_name = "NAME|FILE", default_value = "default")]
    pub policy: String,
    /// The pinned Python's tree
    #[arg(long, value_name = "DIR")]
    pub runtime: Option<PathBuf>,
    /// Only the attacks of this class, or this one (CLASS/NAME)
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    pub attack: Vec<String>,
    /// Runs at once
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}

/// Words of `matrix`.
#[derive(Debug, Args)]
pub struct MatrixArgs {
    /// The battery.
    #[command(flatten)]
    pub battery: BatteryArgs,
    /// Write the summary, as the README shows it, into this file between its two marks
    #[arg(long, value_name = "FILE")]
    pub readme: Option<PathBuf>,
    /// Print the whole table as JSON
    #[arg(long)]
    pub json: bool,
}

/// Words of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The battery.
    #[command(flatten)]
    pub battery: BatteryArgs,
    /// The other program
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,
}

/// Words of `cell`: one run of the battery.
#[derive(Debug, Args)]
pub struct CellArgs {
    /// The walls.
    #[command(flatten)]
    pub walls: Walls,
    /// The canary directory
    #[arg(long, value_name = "DIR")]
    pub canary: PathBuf,
    /// Runs it twice at the same time
    #[arg(long)]
    pub pair: bool,
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
