//! The hunt: program after program in jail after jail, until the time is up, and what became of the canaries.

use super::grammar::{Targets, program};
use super::minimise::minimise;
use super::program::Program;
use crate::attack::engine::{Overdue, finish};
use crate::attack::live::Live;
use crate::attack::outside::Outside;
use crate::seccomp::{Arch, syscalls};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The interpreter's place in the jail.
const PROGRAM: &str = "/skilljail-fuzz";
/// `--timeout`: far more than a program takes.
const TIMEOUT: &str = "10s";
/// After so long the supervisor itself hangs.
const HUNG: Duration = Duration::from_secs(40);
/// Runs that minimising a finding may take.
const TRIES: usize = 120;

/// What is hunted, and with what.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The program, which is the interpreter as well.
    pub program: PathBuf,
    /// `--policy`.
    pub policy: String,
    /// The seed.
    pub seed: u64,
    /// How long.
    pub time: Duration,
    /// Jails at once.
    pub jobs: usize,
    /// Where findings are written.
    pub out: PathBuf,
}

/// A finding.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The batch whose program showed it.
    pub batch: u64,
    /// What happened.
    pub what: Vec<String>,
    /// The folder of the case.
    pub folder: PathBuf,
}

/// What came of the hunt.
#[derive(Debug, Clone, Default)]
pub struct Bag {
    /// Programs that ran.
    pub programs: u64,
    /// Programs after which the interpreter could not say how they went: they hit it.
    pub broken: u64,
    /// Calls by number and errno (0: it succeeded).
    pub counts: BTreeMap<(u32, u64), u64>,
    /// Calls by an entry that must end the process, which did.
    pub killed: u64,
    /// What was found.
    pub findings: Vec<Finding>,
    /// How long it took.
    pub took: Duration,
}

impl Bag {
    /// Calls in all.
    pub fn calls(&self) -> u64 {
        self.counts.values().sum::<u64>() + self.killed
    }

    /// Calls that came to more than a refusal by the filter.
    pub fn beyond(&self) -> u64 {
        let refused = [libc::EPERM, libc::ENOSYS].map(|errno| u64::from(errno.unsigned_abs()));
        self.counts.iter().filter(|((_, errno), _)| !refused.contains(errno)).map(|(_, count)| count).sum()
    }

    /// The distribution: a line a call, most frequent first, with its errnos.
    pub fn distribution(&self) -> Vec<String> {
        let mut calls = BTreeMap::<u32, Vec<(u64, u64)>>::new();
        for ((nr, errno), count) in &self.counts {
            calls.entry(*nr).or_default().push((*errno, *count));
        }
        let mut lines: Vec<(u64, String)> = calls
            .into_iter()
            .map(|(nr, mut errnos)| {
                errnos.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
                let all = errnos.iter().map(|(_, count)| count).sum();
                let shown: Vec<String> =
                    errnos.iter().map(|(errno, count)| format!("{} {count}", errno_name(*errno))).collect();
                (all, format!("{:<24} {all:>8}  {}", call_name(nr), shown.join(", ")))
            })
            .collect();
        lines.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        lines.into_iter().map(|(_, line)| line).collect()
    }
}

fn call_name(nr: u32) -> String {
    let arch = Arch::ALL.into_iter().find(|arch| arch.name() == std::env::consts::ARCH);
    arch.and_then(|arch| syscalls::name(arch, nr)).map_or_else(|| format!("number {nr}"), str::to_owned)
}

fn errno_name(errno: u64) -> String {
    if errno == 0 {
        return "ok".to_owned();
    }
    if errno == super::inside::NEVER_BACK {
        return "waited".to_owned();
    }
    let named = i32::try_from(errno).map(nix::errno::Errno::from_raw);
    named.map_or_else(|_| errno.to_string(), |errno| format!("{errno:?}"))
}

/// What one worker has outside of its jails.
struct Ground {
    dir: tempfile::TempDir,
    outside: Outside,
    live: Live,
}

/// How one program went.
struct Went {
    found: Vec<String>,
    counts: Option<BTreeMap<(u32, u64), u64>>,
    killed: bool,
}

impl Ground {
    fn new() -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix(&crate::attack::residue::mark()).tempdir()?;
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755))?;
        let outside = Outside::set_out(&dir.path().join("outside"))?;
        let live = Live::set_out(outside.dir(), None, true)?;
        Ok(Self { dir, outside, live })
    }

    fn targets(&self) -> io::Result<Targets> {
        let variables: BTreeMap<String, String> = self.live.variables()?.into_iter().collect();
        let of = |name: &str| variables.get(name).cloned().unwrap_or_default();
        let files = ["secret", "writable", "folder/new", "socket", "datagrams"];
        Ok(Targets {
            paths: files.iter().map(|file| self.outside.dir().join(file).display().to_string()).collect(),
            process: of("CANARY_PROCESS").parse().unwrap_or(0),
            port: of("CANARY_PORT").parse().unwrap_or(0),
            names: vec![of("CANARY_ABSTRACT"), of("CANARY_DATAGRAM")],
        })
    }

    fn run(&mut self, settings: &Settings, binds: &[String], program: &Program) -> io::Result<Went> {
        let at = |name: &str| self.dir.path().join(name);
        fs::write(at("program"), program.to_string())?;
        let mut command = Command::new(&settings.program);
        command.args(["exec", "--json", "--timeout", TIMEOUT, "--policy", &settings.policy]);
        for bind in binds {
            command.args(["--ro-bind", bind]);
        }
        command.args(["--", PROGRAM, "fuzz-inside"]).process_group(self.live.group());
        command.stdin(Stdio::from(fs::File::open(at("program"))?));
        command
            .stdout(Stdio::from(fs::File::create(at("stdout"))?))
            .stderr(Stdio::from(fs::File::create(at("stderr"))?));
        let mut child = command.spawn()?;
        let mut found = Vec::new();
        if let Overdue::Yes = finish(&mut child, Instant::now() + HUNG)? {
            found.push(format!("the supervisor had not ended after {} s", HUNG.as_secs()));
        }
        let document: Option<Value> = serde_json::from_slice(&fs::read(at("stdout"))?).ok();
        let counts = judge(program, document.as_ref(), &mut found);
        found.extend(self.live.touched());
        found.extend(self.outside.changes()?);
        let text = document.map(|document| document.to_string()).unwrap_or_default();
        for (whose, secret) in self.live.secrets() {
            if text.contains(&secret) {
                found.push(format!("the result has a secret: {whose}"));
            }
        }
        if text.contains(self.outside.secret()) {
            found.push("the result has a secret of a file".to_owned());
        }
        let killed = !program.last.is_empty() && counts.is_some() && found.is_empty();
        Ok(Went { found, counts, killed })
    }
}

/// What the document says: the counts, and whether the end was the one that the program must have.
fn judge(
    program: &Program,
    document: Option<&Value>,
    found: &mut Vec<String>,
) -> Option<BTreeMap<(u32, u64), u64>> {
    let Some(document) = document else {
        found.push("the supervisor gave no document".to_owned());
        return None;
    };
    let status = document["status"].as_str().unwrap_or_default();
    if status == "setup_failed" {
        found.push(format!("the set-up failed: {}", document["error"]["cause"]));
    }
    let text = document["stdout"]["text"].as_str().unwrap_or_default();
    let numbers = |line: &str| {
        let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [nr, errno, count] = numbers.try_into().ok()?;
        Some(((u32::try_from(nr).ok()?, errno), count))
    };
    let counts: Option<BTreeMap<_, _>> = text.lines().map(numbers).collect();
    let counts = counts.filter(|counts| !counts.is_empty());
    if counts.is_some() && !program.last.is_empty() && status == "ok" {
        found.push("a call by a foreign entry came back".to_owned());
    }
    counts
}

/// The files that the interpreter needs in the jail: itself, its loader and what is mapped here of libraries.
fn binds(program: &Path) -> io::Result<Vec<String>> {
    let mut files = BTreeSet::new();
    for line in fs::read_to_string("/proc/self/maps")?.lines() {
        let path = line.split_once('/').map(|(_, path)| format!("/{path}")).unwrap_or_default();
        if path.contains(".so") && Path::new(&path).is_file() {
            files.insert(path);
        }
    }
    let mut binds: Vec<String> = files.into_iter().collect();
    if let Some(loader) = crate::supervisor::program::open(program).map_err(io::Error::other)?.loader {
        binds.retain(|path| *path != loader);
        binds.push(format!("{}:{loader}", fs::canonicalize(&loader)?.display()));
    }
    binds.push(format!("{}:{PROGRAM}", program.display()));
    Ok(binds)
}

/// Hunts until the time is up or something was found. `progress` hears of programs and calls.
///
/// # Errors
/// The kernel's: canaries cannot be set out, the program cannot be started.
pub fn hunt(settings: &Settings, progress: &(dyn Fn(u64, u64) + Sync)) -> io::Result<Bag> {
    let binds = binds(&settings.program)?;
    let started = Instant::now();
    let batch = AtomicU64::new(0);
    let bag = Mutex::new(Bag::default());
    let worker = || -> io::Result<()> {
        let mut ground = Ground::new()?;
        while started.elapsed() < settings.time {
            let number = batch.fetch_add(1, Ordering::Relaxed);
            let one = program(settings.seed, number, &ground.targets()?);
            let went = ground.run(settings, &binds, &one)?;
            let finding = if went.found.is_empty() {
                None
            } else {
                let finding = keep(settings, &binds, &mut ground, number, one, &went.found)?;
                // The canaries have done their work.
                ground = Ground::new()?;
                Some(finding)
            };
            let Ok(mut bag) = bag.lock() else { return Ok(()) };
            bag.programs += 1;
            bag.broken += u64::from(went.counts.is_none());
            bag.killed += u64::from(went.killed);
            for (key, count) in went.counts.into_iter().flatten() {
                *bag.counts.entry(key).or_default() += count;
            }
            bag.findings.extend(finding);
            progress(bag.programs, bag.calls());
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..settings.jobs.max(1)).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|_| Err(io::Error::other("a worker panicked")))
        })
    })?;
    let mut bag = bag.into_inner().unwrap_or_default();
    bag.took = started.elapsed();
    Ok(bag)
}

/// Minimises a finding and writes it as a case.
fn keep(
    settings: &Settings,
    binds: &[String],
    ground: &mut Ground,
    batch: u64,
    one: Program,
    what: &[String],
) -> io::Result<Finding> {
    let small = minimise(one, TRIES, |candidate| {
        // Each try has canaries of its own; the program knows the old ones by name, so they are taken over where paths
        // and names are data.
        *ground = match Ground::new() {
            Ok(ground) => ground,
            Err(_) => return false,
        };
        let Ok(targets) = ground.targets() else { return false };
        let fresh = Program { data: program(0, 0, &targets).data, ..candidate.clone() };
        ground.run(settings, binds, &fresh).is_ok_and(|went| !went.found.is_empty())
    });
    let folder = settings.out.join(format!("fuzz-{}-{batch}", settings.seed));
    fs::create_dir_all(&folder)?;
    let script = format!("from kit import *\n\nprogram(\"\"\"\n{small}\"\"\")\n");
    fs::write(folder.join("attack.py"), script)?;
    let case = serde_json::json!({
        "tries": format!("what the fuzzer found with seed {} in batch {batch}: {}", settings.seed, what.join("; ")),
        "source": format!("skilljail fuzz --seed {}", settings.seed),
        "wall": "seccomp",
        "expect": "absent",
    });
    fs::write(folder.join("case.json"), format!("{case:#}\n"))?;
    Ok(Finding { batch, what: what.to_vec(), folder })
}
