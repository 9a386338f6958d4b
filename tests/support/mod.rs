//! What the tests that run the real program share: the binary, a pinned Python built once, throw-away skills.
#![allow(dead_code, reason = "each test target uses its part")]
#![allow(
    unreachable_pub,
    clippy::expect_used,
    clippy::panic,
    reason = "a test module; what fails in it fails a test"
)]

pub mod live;

use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// The program under test.
pub const SKILLJAIL: &str = env!("CARGO_BIN_EXE_skilljail");

/// The checkout.
pub fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pinned Python without any set, built once for all test targets and kept in the target directory.
pub fn runtime() -> &'static Path {
    static RUNTIME: OnceLock<PathBuf> = OnceLock::new();
    RUNTIME.get_or_init(|| built("runtime-plain", &[]))
}

/// The same of one's own: in a user namespace of a test's making a tree of root's, which the first user of the target
/// directory may have been, belongs to nobody.
pub fn own_runtime() -> &'static Path {
    use std::os::unix::fs::MetadataExt as _;
    static RUNTIME: OnceLock<PathBuf> = OnceLock::new();
    let uid = nix::unistd::geteuid().as_raw();
    if fs::metadata(runtime()).is_ok_and(|tree| tree.uid() == uid) {
        return runtime();
    }
    RUNTIME.get_or_init(|| built(&format!("runtime-plain-{uid}"), &[]))
}

/// The pinned Python with numpy, pandas and matplotlib; building it needs pip's index.
pub fn data_runtime() -> &'static Path {
    static RUNTIME: OnceLock<PathBuf> = OnceLock::new();
    RUNTIME.get_or_init(|| built("runtime-data", &["--requirements", "data", "--python", &python_with_pip()]))
}

/// A pinned Python with what a requirements file of the checkout lists; building it needs pip's index.
pub fn runtime_of_file(name: &str, file: &str) -> PathBuf {
    let file = checkout().join(file);
    let args = ["--requirements", file.to_str().expect("UTF-8"), "--python", &python_with_pip()];
    built(&format!("runtime-{name}"), &args)
}

/// The first interpreter on PATH that has pip: a host's default one often has none.
fn python_with_pip() -> String {
    let path = std::env::var("PATH").expect("a PATH");
    let mut found = path.split(':').map(|folder| format!("{folder}/python3")).filter(|python| {
        let mut command = Command::new(python);
        command.args(["-I", "-c", "import pip, sys; assert sys.version_info >= (3, 11)"]);
        command.output().is_ok_and(|output| output.status.success())
    });
    found
        .next()
        .expect("a python3 of 3.11 or newer that has pip on PATH (Debian: apt-get install python3-pip)")
}

fn built(name: &str, args: &[&str]) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let tree = place.join(name);
    if tree.join("runtime.json").exists() {
        return tree;
    }
    // Test targets run one after the other, tests of one target share the OnceLock; the lock is for nextest.
    let lock =
        fs::File::create(place.join(format!("{name}.lock"))).expect("the target directory can be written");
    lock.lock().expect("the lock can be had");
    if !tree.join("runtime.json").exists() {
        let output =
            Command::new(SKILLJAIL).args(["runtime", "build", "--out"]).arg(&tree).args(args).output();
        let output = output.expect("the program starts");
        assert!(output.status.success(), "runtime build: {}", String::from_utf8_lossy(&output.stderr));
    }
    tree
}

/// A skill that lives as long as this value.
pub struct Skill {
    dir: tempfile::TempDir,
}

impl Skill {
    /// A skill named `probe` with one script `main.py` that takes any of a few keys.
    pub fn new(script: &str) -> Self {
        Self::with_files(script, &[])
    }

    /// The same with more files, by path below the skill.
    pub fn with_files(script: &str, files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let skill = Self { dir };
        skill.write("SKILL.md", "---\nname: probe\ndescription: A throw-away skill of the tests.\nruntime: cubesandbox::python\n---\nProbe.\n");
        skill.write(
            "xray.json",
            r#"{"scripts": {"main.py": {"description": "Runs.", "parameters": {"type": "object", "properties": {
                "text": {"type": "string", "description": "Any text.", "maxLength": 4000},
                "number": {"type": "integer", "description": "Any number."}}}}}}"#,
        );
        skill.write("scripts/main.py", script);
        for (path, text) in files {
            skill.write(path, text);
        }
        skill
    }

    /// The skill's folder.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("probe")
    }

    /// Writes a file below the skill.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("it has a parent")).expect("directories can be made");
        fs::write(path, text).expect("a file can be written");
    }

    /// `skilljail run` on it, with `{}` as input.
    pub fn run(&self) -> Run {
        Run::new(&self.path(), "main.py")
    }
}

/// One `skilljail run --json`.
pub struct Run {
    command: Command,
    input: Vec<u8>,
}

/// What came of it.
pub struct Ran {
    /// The result document.
    pub report: Value,
    /// The exit code.
    pub code: i32,
    /// What the program said on stderr.
    pub stderr: String,
}

impl Run {
    /// A run of a script of the skill in `dir`.
    pub fn new(dir: &Path, script: &str) -> Self {
        Self::with_runtime(runtime(), dir, script)
    }

    /// The same in another runtime than the shared plain one.
    pub fn with_runtime(runtime: &Path, dir: &Path, script: &str) -> Self {
        let mut command = Command::new(SKILLJAIL);
        command.args(["run", "--json", "--runtime"]).arg(runtime).arg(dir).arg(script);
        Self { command, input: b"{}".to_vec() }
    }

    /// More words.
    #[must_use]
    pub fn args<S: AsRef<std::ffi::OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// Another input.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// The command itself, for what else a test changes on it.
    #[must_use]
    pub fn tweak(mut self, change: impl FnOnce(&mut Command)) -> Self {
        change(&mut self.command);
        self
    }

    /// Lets another program start it: `words` and then the whole command.
    #[must_use]
    pub fn inside(mut self, words: &[&str]) -> Self {
        let mut outer = Command::new(words[0]);
        outer.args(&words[1..]).arg(self.command.get_program()).args(self.command.get_args());
        for (name, value) in self.command.get_envs() {
            outer.env(name, value.unwrap_or_default());
        }
        self.command = outer;
        self
    }

    /// Lets a shell start it after a line that lowers limits or does the like.
    #[must_use]
    pub fn under(self, line: &str) -> Self {
        self.inside(&["sh", "-c", &format!("{line}; exec \"$@\""), "sh"])
    }

    /// Runs it to the end.
    pub fn go(self) -> Ran {
        Ran::of(&feed(self.command, &self.input))
    }

    /// Starts it with the input handed over, and leaves it running.
    pub fn start(mut self) -> live::Live {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("the program starts");
        let _ = child.stdin.take().expect("it was piped").write_all(&self.input);
        live::Live::new(child)
    }
}

/// The default policy in a file of its own, changed.
pub fn policy(change: impl FnOnce(&mut Value)) -> tempfile::NamedTempFile {
    policy_of("default", change)
}

/// A shipped policy in a file of its own, changed.
pub fn policy_of(name: &str, change: impl FnOnce(&mut Value)) -> tempfile::NamedTempFile {
    let shipped = checkout().join("policies").join(name).with_extension("json");
    let text = fs::read_to_string(shipped).expect("it is shipped");
    let mut policy: Value = serde_json::from_str(&text).expect("it is JSON");
    change(&mut policy);
    let mut file = tempfile::Builder::new().suffix(".json").tempfile().expect("a file can be made");
    file.write_all(policy.to_string().as_bytes()).expect("it can be written");
    file
}

impl std::fmt::Debug for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Compact: the document in full takes pages.
        write!(f, "exit code {}, stderr {:?}, document {}", self.code, self.stderr, self.report)
    }
}

/// Runs a command with these bytes on its stdin.
pub fn feed(mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("it was piped");
    // A program that refuses early closes its stdin: that is not the test's business.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().expect("it can be waited for")
}

impl Ran {
    /// What a program printed that ran with `--json`.
    pub fn of(output: &Output) -> Self {
        let text = String::from_utf8_lossy(&output.stdout);
        let report = serde_json::from_str(&text).unwrap_or_else(|error| {
            panic!("no document ({error}): {text} {}", String::from_utf8_lossy(&output.stderr))
        });
        Ran {
            report,
            code: output.status.code().expect("the supervisor exits by itself"),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The status word.
    pub fn status(&self) -> &str {
        self.report["status"].as_str().expect("a document has a status")
    }

    /// The script's stdout as text.
    pub fn stdout(&self) -> &str {
        self.report["stdout"]["text"].as_str().expect("--json holds stdout")
    }

    /// The script's stderr as text.
    pub fn script_stderr(&self) -> &str {
        self.report["stderr"]["text"].as_str().expect("--json holds stderr")
    }

    /// stdout as JSON, of a run that must have been ok.
    pub fn value(&self) -> Value {
        assert_eq!(self.status(), "ok", "{self:#?}");
        serde_json::from_str(self.stdout())
            .unwrap_or_else(|error| panic!("stdout is no JSON ({error}): {self:#?}"))
    }

    /// The entry of a limit.
    pub fn limit(&self, name: &str) -> &Value {
        let limits = self.report["limits"].as_array().expect("a document has limits");
        limits.iter().find(|limit| limit["name"] == name).expect("the limit is listed")
    }
}
