//! How an attack is run: by the real program on this host, or by a cell of the laboratory that has walls down.

use super::case::Case;
use super::judge::{Seen, Verdict, judge};
use super::live::{Key, Live};
use super::stage::{Network, SCRIPT, Stage, Variables};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// `--timeout` of a case that names none.
const TIMEOUT: &str = "10s";
/// How much longer than its timeout a run may take in all, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Who runs the jail.
#[derive(Debug, Clone)]
pub struct Engine {
    /// The program.
    pub program: PathBuf,
    /// Its first words, up to those of `run`; none: it is `skilljail` itself.
    pub words: Vec<OsString>,
    /// `--runtime`.
    pub runtime: Option<PathBuf>,
    /// `--policy`.
    pub policy: String,
    /// Whether the skills of the battery ask for what that policy lets out.
    pub network: Network,
    /// Where the canary directory is, for the script. None: where it is on the host.
    pub canary: Option<PathBuf>,
    /// Whether the harness sets out the canaries that live; else the laboratory does, in its world.
    pub live: bool,
    /// A key that the runs inherit.
    pub key: Option<Key>,
}

/// What became of one case.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// How long it took.
    pub took: Duration,
}

impl Engine {
    /// Runs a case and judges it.
    pub fn run(&self, case: &Case) -> Judged {
        let started = Instant::now();
        let verdict = match self.stage(case) {
            Ok(verdict) => verdict,
            Err(error) => Verdict::Unclear(format!("the harness: {error}")),
        };
        Judged { verdict, took: started.elapsed() }
    }

    fn stage(&self, case: &Case) -> io::Result<Verdict> {
        let mut stage = Stage::new()?;
        let mut secrets = vec![("a file of the host's".to_owned(), stage.outside.secret().to_owned())];
        let mut live = None;
        let mut variables = Variables::new();
        if self.live {
            let set_out = Live::set_out(stage.outside.dir(), self.key.clone(), true)?;
            secrets.extend(set_out.secrets());
            variables = set_out.variables()?;
            live = Some(set_out);
        }
        let hostname = nix::unistd::gethostname().ok();
        let canary = self.canary.clone().unwrap_or_else(|| stage.outside.dir().to_owned());
        let roles: &[&str] = if case.spec.pair { &["receiver", "sender"] } else { &["receiver"] };
        let folders = roles.iter().map(|role| stage.write(case, role, &canary, &variables, self.network));
        let folders = folders.collect::<io::Result<Vec<_>>>()?;
        // A package may hold a second name of a canary.
        stage.outside.settle()?;
        let mut runs = Vec::new();
        for (role, folder) in roles.iter().zip(&folders) {
            if *role == "receiver" || self.live {
                let group = live.as_ref().map_or(0, Live::group);
                runs.push(Run::start(self.command(case, &stage, folder, role), &stage, role, group, case)?);
            }
        }
        let mut seen = Seen::default();
        for run in runs {
            run.finish(&mut seen)?;
        }
        if let Some(over) = overtime(case, &seen) {
            seen.touched.push(over);
        }
        seen.touched
            .extend(stage.outside.changes().unwrap_or_else(|error| vec![format!("the files: {error}")]));
        collected(&stage.out(), &mut seen)?;
        for entry in fs::read_dir(stage.temporary())?.flatten() {
            seen.touched.push(format!("a temporary file is left: {}", entry.file_name().display()));
        }
        if nix::unistd::gethostname().ok() != hostname {
            seen.touched.push("the host was renamed".to_owned());
        }
        if let Some(live) = &mut live {
            seen.touched.extend(live.touched());
        }
        if seen.touched.is_empty() {
            seen.dead.extend(stage.outside.dead());
            seen.dead.extend(live.as_mut().map(Live::dead).unwrap_or_default());
        }
        Ok(judge(&case.spec.expect, &stage.proof, &secrets, &seen))
    }

    fn command(&self, case: &Case, stage: &Stage, folder: &Path, role: &str) -> Command {
        let mut words: Vec<OsString> = vec![self.program.clone().into()];
        words.extend(self.words.iter().map(|word| {
            // The laboratory must know what to bind, and that a second run belongs to the first.
            if word == "OUTSIDE" { stage.outside.dir().into() } else { word.clone() }
        }));
        if case.spec.pair && !self.live {
            words.extend(["--pair".into()]);
        }
        words.extend(["run".into(), "--json".into()]);
        if let Some(runtime) = &self.runtime {
            words.extend(["--runtime".into(), runtime.into()]);
        }
        words.extend(["--policy".into(), (&self.policy).into()]);
        words.extend(["--timeout".into(), case.spec.timeout.as_deref().unwrap_or(TIMEOUT).into()]);
        if role == "receiver" {
            words.extend(["--out".into(), stage.out().into()]);
        }
        words.extend([folder.into(), SCRIPT.into()]);
        // A hostile caller is a line of shell; a shell of POSIX is on every host.
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("{}\nexec \"$@\"", case.spec.caller.as_deref().unwrap_or(":")), "sh"])
            .args(words);
        // Whatever a run writes for a while goes there, and is told if it stays.
        command.env("TMPDIR", stage.temporary());
        command.env("CANARY", stage.outside.dir()).env("SECRET", stage.outside.secret());
        command
    }
}

/// One run that is going on.
struct Run {
    child: Child,
    role: String,
    stdout: PathBuf,
    stderr: PathBuf,
    deadline: Instant,
    given: Duration,
}

impl Run {
    fn start(mut command: Command, stage: &Stage, role: &str, group: i32, case: &Case) -> io::Result<Self> {
        let (stdout, stderr) = (stage.file(&format!("{role}.stdout")), stage.file(&format!("{role}.stderr")));
        command.process_group(group).stdout(fs::File::create(&stdout)?).stderr(fs::File::create(&stderr)?);
        let input = stage.file("input");
        fs::write(&input, "{}")?;
        command.stdin(Stdio::from(fs::File::open(&input)?));
        let given = Duration::from_millis(millis(case)) + PATIENCE;
        Ok(Self {
            child: command.spawn()?,
            role: role.to_owned(),
            stdout,
            stderr,
            deadline: Instant::now() + given,
            given,
        })
    }

    fn finish(mut self, seen: &mut Seen) -> io::Result<()> {
        let hung = finish(&mut self.child, self.deadline)? == Overdue::Yes;
        if hung {
            seen.hung = Some(u64::try_from(self.given.as_millis()).unwrap_or(u64::MAX));
        }
        let said = String::from_utf8_lossy(&fs::read(&self.stderr)?).into_owned();
        let text = String::from_utf8_lossy(&fs::read(&self.stdout)?).into_owned();
        let document: Option<Value> = serde_json::from_str(&text).ok();
        let stream = |name: &str| {
            let stream = &document.as_ref()?[name];
            Some((name.to_owned(), decoded(stream)))
        };
        if self.role == "receiver" {
            seen.texts.extend(["stdout", "stderr"].iter().filter_map(|name| stream(name)));
            // What the laboratory saw in its world.
            for touched in document.iter().filter_map(|d| d["touched"].as_array()).flatten() {
                seen.touched.extend(touched.as_str().map(str::to_owned));
            }
            for dead in document.iter().filter_map(|d| d["dead"].as_array()).flatten() {
                seen.dead.extend(dead.as_str().map(str::to_owned));
            }
            for text in document.iter().filter_map(|d| d["texts"].as_array()).flatten() {
                let part = |at: usize| text[at].as_str().unwrap_or_default().to_owned();
                seen.texts.push((part(0), part(1)));
            }
            seen.document = document;
        }
        // Whatever came on the supervisor's own streams counts as well: only it may write there.
        seen.texts.push(("the supervisor's stderr".to_owned(), said.clone()));
        seen.texts.push(("the document".to_owned(), text));
        seen.said.push_str(&said);
        Ok(())
    }
}

/// Whether a child had to be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overdue {
    /// It had not ended at its deadline.
    Yes,
    /// It ended by itself.
    No,
}

/// Waits for a child until a deadline, and kills it then.
///
/// # Errors
/// The kernel's.
pub fn finish(child: &mut Child, deadline: Instant) -> io::Result<Overdue> {
    let mut wait = Duration::from_millis(2);
    while child.try_wait()?.is_none() {
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            return Ok(Overdue::Yes);
        }
        std::thread::sleep(wait);
        wait = (wait * 2).min(Duration::from_millis(20));
    }
    Ok(Overdue::No)
}

/// A run that went on for long after its deadline.
fn overtime(case: &Case, seen: &Seen) -> Option<String> {
    const GRACE: u64 = 5_000;
    let given = millis(case);
    let took = seen.document.as_ref()?["usage"]["wall_ms"].as_u64()?;
    (took > given + GRACE).then(|| format!("it ran for {took} ms and had {given}"))
}

fn millis(case: &Case) -> u64 {
    crate::policy::units::millis(case.spec.timeout.as_deref().unwrap_or(TIMEOUT)).unwrap_or(10_000)
}

/// A stream of a document as text.
fn decoded(stream: &Value) -> String {
    use base64::Engine as _;
    let text = stream["text"].as_str().unwrap_or_default();
    if stream["encoding"] == "base64" {
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap_or_default();
        return String::from_utf8_lossy(&bytes).into_owned();
    }
    text.to_owned()
}

/// Looks through what was collected: regular files of one name, and nothing else, without following anything.
fn collected(out: &Path, seen: &mut Seen) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let mut left = vec![out.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir)? {
            let path = entry?.path();
            let meta = fs::symlink_metadata(&path)?;
            let name = path.strip_prefix(out).unwrap_or(&path).display().to_string();
            if meta.is_dir() {
                left.push(path);
            } else if !meta.is_file() {
                seen.touched.push(format!("the artifact {name} is no regular file"));
            } else if meta.nlink() != 1 {
                seen.touched.push(format!("the artifact {name} has {} names", meta.nlink()));
            } else if meta.permissions().mode() & 0o7111 != 0 {
                seen.touched.push(format!("the artifact {name} has mode {:o}", meta.mode()));
            } else if meta.len() > 16 << 20 {
                seen.touched.push(format!("the artifact {name} has {} bytes", meta.len()));
            } else {
                let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
                seen.texts.push((format!("the artifact {name}"), text));
            }
        }
    }
    Ok(())
}
