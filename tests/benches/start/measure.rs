//! Cases in turn, round by round; several at once.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// One command.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    words: Vec<String>,
    stdin: PathBuf,
}

impl Case {
    pub(crate) fn new<S: AsRef<str>>(name: &str, words: impl IntoIterator<Item = S>) -> Self {
        let words = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        Self { name: name.to_owned(), words, stdin: PathBuf::from("/dev/null") }
    }

    pub(crate) fn stdin(mut self, path: &Path) -> Self {
        path.clone_into(&mut self.stdin);
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).env_clear();
        command.stdin(File::open(&self.stdin).expect("the input")).stdout(Stdio::null());
        command
    }

    /// From spawn to wait.
    fn once(&self) -> Duration {
        let mut command = self.command();
        command.stderr(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn().expect("it starts");
        let status = child.wait().expect("it can be waited for");
        let took = start.elapsed();
        assert!(status.success(), "{}: {status}", self.name);
        took
    }

    /// Whether it works at all; what it said if not.
    pub(crate) fn works(&self) -> Result<(), String> {
        let output = self.command().output().map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(said.trim().lines().next_back().unwrap_or("it fails without a word").to_owned())
    }
}

/// The times of a case, sorted.
#[derive(Debug, Clone)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    fn at(&self, percent: usize) -> f64 {
        let index = (self.0.len() * percent / 100).min(self.0.len() - 1);
        self.0[index].as_secs_f64() * 1e6
    }

    /// In microseconds.
    pub(crate) fn p50(&self) -> f64 {
        self.at(50)
    }

    /// In microseconds.
    pub(crate) fn p95(&self) -> f64 {
        self.at(95)
    }
}

/// Each case once a round.
pub(crate) fn in_turn(cases: &[Case], rounds: usize) -> Vec<Times> {
    let mut times = vec![Vec::with_capacity(rounds); cases.len()];
    for case in cases {
        // The page cache has everything.
        case.once();
        case.once();
    }
    for round in 0..rounds {
        // Nobody is always the one after the slowest.
        for offset in 0..cases.len() {
            let index = (round + offset) % cases.len();
            times[index].push(cases[index].once());
        }
    }
    times.into_iter().map(Times::new).collect()
}

/// Runs a second with `width` at once, median of the blocks, cases in turn.
pub(crate) fn throughput(cases: &[Case], width: usize, blocks: usize, runs: usize) -> Vec<f64> {
    let mut rates = vec![Vec::new(); cases.len()];
    for _ in 0..blocks {
        for (case, rates) in cases.iter().zip(&mut rates) {
            let next = AtomicUsize::new(0);
            let start = Instant::now();
            std::thread::scope(|scope| {
                for _ in 0..width {
                    scope.spawn(|| {
                        while next.fetch_add(1, Ordering::Relaxed) < runs {
                            case.once();
                        }
                    });
                }
            });
            #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
            rates.push(runs as f64 / start.elapsed().as_secs_f64());
        }
    }
    rates
        .into_iter()
        .map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            rates[rates.len() / 2]
        })
        .collect()
}
