//! The same attacks against another jail: a battery that cannot tell a weaker one from ours is none.

use super::control::{Failure, told};
use super::matrix::chosen;
use super::words::CompareArgs;
use crate::attack::engine::Engine;
use crate::attack::live::Key;
use crate::attack::stage::Network;
use crate::attack::{self, case::Class, judge::Verdict, threads};
use crate::cmd::Io;
use crate::exit::Exit;
use crate::policy::Policy;
use crate::render::battery;

/// Runs `compare`: a table in Markdown, then each attack that reached its canary.
pub fn compare(args: &CompareArgs, io: &mut Io<'_>) -> Exit {
    told(go(args, io), io)
}

fn go(args: &CompareArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let cases = chosen(&args.battery)?;
    let ours = Engine {
        program: std::env::current_exe()?.with_file_name("skilljail"),
        words: Vec::new(),
        runtime: args.battery.runtime.clone(),
        policy: args.battery.policy.clone(),
        network: Network::most(&Policy::load(&args.battery.policy)?),
        canary: None,
        live: true,
        key: Key::set_out(),
    };
    let theirs = Engine { program: std::fs::canonicalize(&args.program)?, ..ours.clone() };
    let jobs = args.battery.jobs.unwrap_or_else(threads);
    let run = |engine| attack::run(engine, cases.clone(), Vec::new(), jobs, &mut |_, _| {});
    let (one, other) = (run(&ours), run(&theirs));
    let name = args.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    writeln!(
        io.out,
        "| class | attacks | skilljail contained | {name} contained | not shown |\n|---|---|---|---|---|"
    )?;
    for class in Class::ALL {
        let count = |tally: &attack::Tally, is: fn(&Verdict) -> bool| {
            tally.of(class).filter(|entry| is(&entry.judged.verdict)).count()
        };
        let contained = |verdict: &Verdict| matches!(verdict, Verdict::Contained { .. });
        let unclear = |verdict: &Verdict| matches!(verdict, Verdict::Unclear(_));
        let (all, held) = (one.of(class).count(), count(&one, contained));
        if all > 0 {
            let (theirs, none) = (count(&other, contained), count(&other, unclear));
            writeln!(io.out, "| {} | {all} | {held} | {theirs} | {none} |", class.name())?;
        }
    }
    writeln!(io.out, "\nskilljail: {}; {name}: {}\n", battery::summary(&one), battery::summary(&other))?;
    for entry in &other.entries {
        match &entry.judged.verdict {
            Verdict::Escaped(reached) => {
                writeln!(io.out, "- {}: {}", entry.case.id(), reached.first().map_or("", String::as_str))?;
            }
            Verdict::Unclear(why) => writeln!(io.out, "- {} shows nothing: {why}", entry.case.id())?,
            Verdict::Contained { .. } => {}
        }
    }
    // Who cannot tell the two apart shows nothing.
    let told_apart = one.escaped() == 0 && other.escaped() > 0;
    Ok(if told_apart { Exit::Success } else { Exit::Findings })
}
