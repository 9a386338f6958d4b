//! `skilljail attack`.

use super::Io;
use crate::attack::case::{self, Case, Class};
use crate::attack::engine::Engine;
use crate::attack::live::Key;
use crate::attack::stage::Network;
use crate::attack::{self, Tally, probe, residue};
use crate::cli::{AttackArgs, AttackFormat};
use crate::exit::Exit;
use crate::policy::Policy;
use crate::render::battery;
use std::io::{IsTerminal as _, Write as _};

/// What is wrong with the words of `attack`. The caller's fault.
#[derive(Debug, thiserror::Error)]
enum AttackError {
    #[error("--only {word}: neither a class nor CLASS/NAME of an attack\nhint: the classes are {classes}")]
    Only { word: String, classes: String },
}

/// Runs the command.
pub fn run(args: &AttackArgs, io: &mut Io<'_>) -> Exit {
    let policy = match Policy::load(&args.policy) {
        Ok(policy) => policy,
        Err(error) => {
            io.tell(&error);
            return Exit::PolicyRejected;
        }
    };
    let cases = match case::all() {
        Ok(cases) => cases,
        Err(error) => {
            io.tell(&error);
            return Exit::Failed;
        }
    };
    let cases: Vec<Case> = cases.into_iter().filter(|case| case.applies(policy.name())).collect();
    let chosen = match choose(&cases, &args.only) {
        Ok(chosen) => chosen,
        Err(error) => {
            io.tell(&error);
            return Exit::Usage;
        }
    };
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => {
            io.tell(&error);
            return Exit::Failed;
        }
    };
    let engine = Engine {
        program,
        words: Vec::new(),
        runtime: args.runtime.clone(),
        policy: args.policy.clone(),
        network: Network::most(&policy),
        canary: None,
        live: true,
        // Before any thread is made: they inherit it.
        key: Key::set_out(),
    };
    // Whoever wants some attacks only gets no other half.
    let probes = if args.only.is_empty() { probe::all() } else { Vec::new() };
    let before = match residue::Snapshot::take() {
        Ok(before) => before,
        Err(error) => {
            io.tell(&error);
            return Exit::Failed;
        }
    };
    // A bar is for a terminal, whoever holds the streams of this command.
    let terminal = std::io::stderr().is_terminal();
    let mut progress = |done: usize, all: usize| {
        if terminal {
            drop(write!(std::io::stderr(), "\r{}", bar(done, all)));
        }
    };
    let jobs = args.jobs.unwrap_or_else(attack::threads);
    let mut tally = attack::run(&engine, chosen, probes, jobs, &mut progress);
    if terminal {
        drop(write!(std::io::stderr(), "\r\x1b[K"));
    }
    tally.residue = before.left();
    tell(&tally, args, io)
}

fn choose(cases: &[Case], only: &[String]) -> Result<Vec<Case>, AttackError> {
    for word in only {
        if Class::named(word).is_none() && !cases.iter().any(|case| case.id() == *word) {
            let classes = Class::ALL.map(Class::name).join(", ");
            return Err(AttackError::Only { word: word.clone(), classes });
        }
    }
    let wanted = |case: &&Case| only.iter().any(|word| case.class.name() == word || case.id() == *word);
    Ok(cases.iter().filter(|case| only.is_empty() || wanted(case)).cloned().collect())
}

fn bar(done: usize, all: usize) -> String {
    const WIDTH: usize = 30;
    let full = done * WIDTH / all.max(1);
    format!("[{}{}] {done}/{all}", "#".repeat(full), " ".repeat(WIDTH - full.min(WIDTH)))
}

fn tell(tally: &Tally, args: &AttackArgs, io: &mut Io<'_>) -> Exit {
    let text = match args.format {
        AttackFormat::Text => battery::text(tally, args.verbose),
        AttackFormat::Json => format!("{:#}\n", battery::value(tally)),
        AttackFormat::Junit => battery::junit(tally),
        AttackFormat::Sarif => format!("{:#}\n", battery::sarif(tally)),
    };
    // A document stays one document: its summary goes to the other stream.
    let summary = battery::summary(tally);
    let told = io.out.write_all(text.as_bytes()).and_then(|()| match args.format {
        AttackFormat::Text => writeln!(io.out, "{summary}"),
        _ => writeln!(io.err, "{summary}"),
    });
    match told {
        Err(_) => Exit::Failed,
        Ok(()) if tally.holds() => Exit::Success,
        Ok(()) => Exit::Findings,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_takes_a_class_or_an_attack_and_nothing_else() {
        let cases = case::all().unwrap();
        let one = cases[0].id();
        let some = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|word| (*word).to_owned()).collect();
            choose(&cases, &only).map(|chosen| chosen.len())
        };
        assert_eq!(some(&[]).unwrap(), cases.len());
        assert_eq!(some(&[&one]).unwrap(), 1);
        let network = cases.iter().filter(|case| case.class == Class::Network).count();
        assert_eq!(some(&["network"]).unwrap(), network);
        for bad in ["networks", "network/", "", "network/nothing"] {
            assert!(some(&[&one, bad]).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_bar_is_full_at_the_end() {
        assert_eq!(bar(0, 0).len(), bar(7, 9).len());
        assert!(bar(9, 9).starts_with(&format!("[{}]", "#".repeat(30))));
    }
}
