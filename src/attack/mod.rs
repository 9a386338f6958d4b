//! The battery: attacks on the jail, run for real on this host and judged by what happens to canaries. It knows no layer.
//!
//! ```text
//! tests/attacks/CLASS/NAME/{attack.py,case.json}   compiled in            case
//!  -> stage: canary directory, skill folder         outside, stage
//!  -> live: process, listeners, segment, key        live
//!  -> `skilljail run`, as anybody would start it    engine
//!  -> what was seen -> verdict                      judge
//! ```

pub mod case;
pub mod engine;
pub mod judge;
pub mod live;
pub mod outside;
pub mod probe;
pub mod residue;
pub mod stage;

use case::{Case, Class};
use engine::{Engine, Judged};
use judge::Verdict;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

/// One line of the battery's result.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The attack.
    pub case: Case,
    /// What became of it.
    pub judged: Judged,
}

/// A legitimate probe's result.
#[derive(Debug, Clone)]
pub struct Probed {
    /// Its name.
    pub name: &'static str,
    /// What an honest skill does there.
    pub does: String,
    /// Why it did not work.
    pub failure: Option<String>,
    /// How long it took.
    pub took: Duration,
}

/// What the battery found.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// The attacks, in the order of classes and names.
    pub entries: Vec<Entry>,
    /// The legitimate probes.
    pub probes: Vec<Probed>,
    /// What was left behind on the host.
    pub residue: Vec<String>,
}

impl Tally {
    /// How many attacks were contained.
    pub fn contained(&self) -> usize {
        self.entries.iter().filter(|e| matches!(e.judged.verdict, Verdict::Contained { .. })).count()
    }

    /// How many reached a canary.
    pub fn escaped(&self) -> usize {
        self.entries.iter().filter(|e| matches!(e.judged.verdict, Verdict::Escaped(_))).count()
    }

    /// Whether nothing escaped, everything was shown, every legitimate probe worked and nothing is left.
    pub fn holds(&self) -> bool {
        self.contained() == self.entries.len()
            && self.probes.iter().all(|probe| probe.failure.is_none())
            && self.residue.is_empty()
    }

    /// The entries of a class.
    pub fn of(&self, class: Class) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.case.class == class)
    }
}

/// Runs `work` on every item with as many threads, and tells after each how many are done; the results are in the
/// order of the items.
pub fn in_parallel<T: Send, R: Send>(
    items: Vec<T>,
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
    done: impl FnMut(usize, &T, &R) + Send,
) -> Vec<(T, R)> {
    let queue: Mutex<VecDeque<(usize, T)>> = Mutex::new(items.into_iter().enumerate().collect());
    let results = Mutex::new((Vec::new(), done));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    // A poisoned lock means that another thread panicked, which the scope tells.
                    let next = queue.lock().ok().and_then(|mut queue| queue.pop_front());
                    let Some((at, item)) = next else { return };
                    let result = work(&item);
                    let Ok(mut guard) = results.lock() else { return };
                    let (results, done) = &mut *guard;
                    done(results.len() + 1, &item, &result);
                    results.push((at, item, result));
                }
            });
        }
    });
    let mut results = results.into_inner().map(|(results, _)| results).unwrap_or_default();
    results.sort_by_key(|(at, _, _)| *at);
    results.into_iter().map(|(_, item, result)| (item, result)).collect()
}

/// How many runs at once: many of them wait.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get) * 2
}

/// One thing to run.
enum Item {
    Attack(Box<Case>),
    Probe(&'static str, &'static str),
}

/// Runs the attacks and the probes. `progress` hears how many of how many are done.
pub fn run(
    engine: &Engine,
    cases: Vec<Case>,
    probes: Vec<(&'static str, &'static str)>,
    threads: usize,
    progress: &mut (dyn FnMut(usize, usize) + Send),
) -> Tally {
    enum Done {
        Attack(Judged),
        Probe(Probed),
    }
    let mut items: Vec<Item> = cases.into_iter().map(|case| Item::Attack(Box::new(case))).collect();
    items.extend(probes.into_iter().map(|(name, script)| Item::Probe(name, script)));
    // Those that wait for a deadline go first: the end then has no straggler.
    items.sort_by_key(|item| match item {
        Item::Attack(case) => (case.spec.timeout.is_none(), case.class, case.name),
        Item::Probe(name, _) => (true, Class::CovertChannels, *name),
    });
    let all = items.len();
    let done = in_parallel(
        items,
        threads,
        |item| match item {
            Item::Attack(case) => Done::Attack(engine.run(case)),
            Item::Probe(name, script) => Done::Probe(probe::run(engine, name, script)),
        },
        |count, _, _| progress(count, all),
    );
    let mut tally = Tally::default();
    for (item, done) in done {
        match (item, done) {
            (Item::Attack(case), Done::Attack(judged)) => tally.entries.push(Entry { case: *case, judged }),
            (_, Done::Probe(probed)) => tally.probes.push(probed),
            (Item::Probe(..), Done::Attack(_)) => {}
        }
    }
    tally.entries.sort_by_key(|entry| (entry.case.class, entry.case.name));
    tally
}
