//! The laboratory (feature `lab`, program `skilljail-lab`): the only place where a wall can be left out of a jail, so
//! that a test can show what each wall is good for.
//!
//! ```text
//! host: words, policy, skill, runtime, plan
//!  '- world: user, mount, pid, net, ipc, uts, cgroup namespaces of the laboratory's own, with canaries in them
//!      '- jail: the production line, less the walls that were left out
//! ```
//!
//! A wall that is left out opens the way into the laboratory's world, not to the host: what is "outside" for the program
//! is what the laboratory put there. Every result says that it is one of the laboratory.
//!
//! `matrix` sets each attack of the battery against each wall: a cell is a process of its own, which sets out the battery's
//! canaries in its world, and whose result the battery judges as it judges a run on the host.

pub mod canaries;
pub mod cell;
pub mod compare;
pub mod control;
pub mod document;
pub mod matrix;
pub mod naive;
pub mod trace;
pub mod words;
pub mod world;

use crate::cmd::Io;
use crate::exit::Exit;
use crate::layer::without::{MARKER, Wall};
use words::{Command, Words};

/// Runs the command that was asked for.
pub fn dispatch(words: &Words, io: &mut Io<'_>) -> Exit {
    match &words.command {
        Command::Control(args) => control::control(args, io),
        Command::Matrix(args) => matrix::matrix(args, io),
        Command::Compare(args) => compare::compare(args, io),
        Command::Cell(args) => cell::cell(args, io),
        Command::Trace(args) => control::trace(args, io),
        Command::Walls => walls(io),
    }
}

fn walls(io: &mut Io<'_>) -> Exit {
    let mut told = writeln!(io.out, "{MARKER}");
    for wall in Wall::ALL {
        told = told.and_then(|()| writeln!(io.out, "{:<20} {}", wall.name(), wall.what()));
    }
    if told.is_ok() { Exit::Success } else { Exit::Failed }
}
