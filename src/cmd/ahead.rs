//! `run --warm`: the jail is started ahead, and the input comes on stdin when the script waits for it.

use super::launch::LaunchError;
use super::run::Checked;
use crate::cli::RunArgs;
use crate::digest;
use crate::policy::{Limits, units};
use crate::report::ReadyLine;
use crate::skill::input::Input;
use crate::supervisor::warm::{Caller, Ready};
use crate::target::{Patient, READER_PATIENCE};
use std::fs::File;
use std::io::{self, Write as _};
use std::time::Duration;

/// How long a jail may wait for its input, at most, in milliseconds: what waits holds memory.
const MOST_IDLE: u64 = 3_600_000;

/// What a warm run may take before its own time begins.
#[derive(Debug, Clone, Copy)]
pub struct Ahead {
    ready: Duration,
    idle: Duration,
}

/// The limits that were asked for; none without `--warm`.
pub fn limits(args: &RunArgs, policy: &Limits) -> Result<Option<Ahead>, LaunchError> {
    if !args.warm {
        return Ok(None);
    }
    let within = |option, word: &str, most| {
        let asked = units::millis(word).map_err(|source| LaunchError::Ahead { option, source })?;
        if (1..=most).contains(&asked) {
            return Ok(Duration::from_millis(asked));
        }
        Err(LaunchError::AheadRange { option, asked, most })
    };
    Ok(Some(Ahead {
        ready: within("--warm-ready", &args.warm_ready, policy.wall_max_ms)?,
        idle: within("--warm-idle", &args.warm_idle, MOST_IDLE)?,
    }))
}

/// Who tells that the script waits, and judges what comes.
pub(super) fn caller<'a>(
    ahead: Ahead,
    args: &'a RunArgs,
    checked: &'a Checked,
    report: Option<&'a File>,
) -> Caller<'a> {
    let most = checked.policy.limits().input_bytes.value;
    Caller {
        ready_limit: ahead.ready,
        idle_limit: ahead.idle,
        most,
        tell: Box::new(move |ready| tell(report, ready)),
        check: Box::new(move |bytes| {
            // Asked once a run; a second answer would change nothing.
            let _ = checked.late_digest.set(digest::sha256(bytes));
            let script = checked.skill().script(&args.script).map_err(|error| super::chain(&error))?;
            Input::check(script.contract, bytes, most).map(drop).map_err(|error| super::chain(&error))
        }),
    }
}

fn tell(report: Option<&File>, ready: &Ready) -> io::Result<()> {
    let Some(file) = report else { return Ok(()) };
    let line = ReadyLine {
        version: 1,
        ready: true,
        setup_us: u64::try_from(ready.setup.as_micros()).unwrap_or(u64::MAX),
        ready_ms: u64::try_from(ready.after.as_millis()).unwrap_or(u64::MAX),
        idle_kib: ready.idle_kib,
    };
    Patient::new(file, READER_PATIENCE).write_all(line.to_json().as_bytes())
}
