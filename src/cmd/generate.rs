//! `skilljail gen`: completions and man pages from the one definition of the command line.

use super::Io;
use crate::cli::{Cli, GenCommand};
use crate::exit::Exit;
use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// What can go wrong; each is the caller's: a directory or a pipe that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum GenError {
    /// The directory cannot be made.
    #[error("cannot make the directory {path}: {source}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A page cannot be written.
    #[error("cannot write {path}: {source}")]
    Page {
        /// The page.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Standard output is closed.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
}

/// Runs the command.
pub fn run(command: &GenCommand, io: &mut Io<'_>) -> Exit {
    let done = match command {
        GenCommand::Completions { shell } => completions(*shell, io),
        GenCommand::Schema { of } => schema(*of, io),
        GenCommand::Man { out } => man_pages(out),
    };
    match done {
        Ok(()) => Exit::Success,
        Err(error) => {
            io.tell(&error);
            Exit::Failed
        }
    }
}

fn completions(shell: clap_complete::Shell, io: &mut Io<'_>) -> Result<(), GenError> {
    // Into memory first: the generator panics where its writer fails, and a pipe may be closed.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "skilljail", &mut text);
    io.out.write_all(&text).and_then(|()| io.out.flush()).map_err(GenError::Output)
}

fn schema(of: crate::cli::SchemaOf, io: &mut Io<'_>) -> Result<(), GenError> {
    use crate::cli::SchemaOf;
    let schema = match of {
        SchemaOf::Policy => schemars::schema_for!(crate::policy::schema::PolicyFile),
        SchemaOf::Report => schemars::schema_for!(crate::report::Report),
    };
    let text = serde_json::to_string_pretty(&schema).map_err(|error| GenError::Output(error.into()))?;
    writeln!(io.out, "{text}").and_then(|()| io.out.flush()).map_err(GenError::Output)
}

fn man_pages(out: &Path) -> Result<(), GenError> {
    fs::create_dir_all(out).map_err(|source| GenError::Directory { path: out.to_owned(), source })?;
    // Gives each subcommand its full name and what belongs to every command, before it is rendered by itself.
    let mut root = Cli::command();
    root.build();
    page_of(&root, out)
}

/// Writes the page of a command and those of its subcommands, as `git-log.1` is named.
fn page_of(command: &Command, out: &Path) -> Result<(), GenError> {
    let man = Man::new(command.clone());
    let path = out.join(man.get_filename());
    let mut page = Vec::new();
    man.render(&mut page)
        .and_then(|()| fs::File::create(&path)?.write_all(&page))
        .map_err(|source| GenError::Page { path, source })?;
    // `help` only repeats what --help says.
    for below in command.get_subcommands().filter(|below| below.get_name() != "help" && !below.is_hide_set())
    {
        page_of(below, out)?;
    }
    Ok(())
}
