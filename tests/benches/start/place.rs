//! What the cases need on disk: the program, the pinned Python, skills, the floor.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Echoes its input: what any JSON skill does at least.
pub(crate) const ECHO: &str = "import json\nimport sys\n\nprint(json.dumps(json.load(sys.stdin)))\n";

/// Everything.
pub(crate) struct Place {
    /// Whatever is written lies here.
    pub(crate) dir: tempfile::TempDir,
    /// The program under test: `BENCH_BIN`, or the one that cargo built.
    pub(crate) program: PathBuf,
    /// The plain runtime.
    pub(crate) runtime: PathBuf,
    /// The runtime with numpy and pandas, if there is one.
    pub(crate) data: Option<PathBuf>,
    /// The interpreter that both were built from.
    pub(crate) python: PathBuf,
    /// The floor program; the text says why there is none.
    pub(crate) floor: Result<PathBuf, String>,
}

pub(crate) fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The first of these that is there.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    ["/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/local/bin"]
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.exists())
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| !path.as_os_str().is_empty())
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let program = variable("BENCH_BIN").unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_skilljail")));
        let python = fs::canonicalize("/usr/bin/python3").expect("Debian's python3");
        let runtime = variable("BENCH_RUNTIME").unwrap_or_else(|| build(&program, dir.path(), &python));
        let data = variable("BENCH_DATA_RUNTIME").filter(|path| path.join("runtime.json").exists());
        let floor = floor(dir.path(), &program);
        let place = Self { dir, program, runtime, data, python, floor };
        place.skill("echo", ECHO, &[]);
        // Twenty files, as a skill with references has them.
        let more: Vec<(String, String)> =
            (0..16).map(|n| (format!("references/page-{n}.md"), "Words of a page.\n".repeat(200))).collect();
        let more: Vec<(&str, &str)> =
            more.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        place.skill("twenty", ECHO, &more);
        place
    }

    /// A skill with one script, `main.py`.
    pub(crate) fn skill(&self, name: &str, script: &str, files: &[(&str, &str)]) -> PathBuf {
        let folder = self.dir.path().join(name);
        let write = |path: &str, text: &str| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().expect("it has a parent")).expect("directories");
            fs::write(path, text).expect("a file");
        };
        write(
            "SKILL.md",
            &format!(
                "---\nname: {name}\ndescription: A skill of the benches.\nruntime: cubesandbox::python\n---\nRuns.\n"
            ),
        );
        write(
            "xray.json",
            r#"{"scripts": {"main.py": {"description": "Runs.", "parameters": {"type": "object", "properties": {
                "text": {"type": "string", "description": "Any text.", "maxLength": 4000}}}}}}"#,
        );
        write("scripts/main.py", script);
        for (path, text) in files {
            write(path, text);
        }
        folder
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A file of the place.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        fs::write(&path, bytes).expect("a file");
        path
    }
}

fn build(program: &Path, dir: &Path, python: &Path) -> PathBuf {
    let out = dir.join("runtime");
    let mut command = Command::new(program);
    command.args(["runtime", "build", "--python"]).arg(python).arg("--out").arg(&out);
    let done = command.output().expect("the program starts");
    assert!(done.status.success(), "runtime build: {}", String::from_utf8_lossy(&done.stderr));
    out
}

/// The floor is linked as the program is: against musl and statically where that is, by the host's compiler otherwise.
fn floor(dir: &Path, program: &Path) -> Result<PathBuf, String> {
    let bytes = fs::read(program).map_err(|error| error.to_string())?;
    let has = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
    let is_static = !has(b"/lib64/ld-linux");
    let musl = is_static && !has(b"GLIBC_") && !has(b"glibc");
    let compiler = if musl { "musl-gcc" } else { "cc" };
    let Some(compiler) = find(compiler) else {
        return Err(format!(
            "{compiler} is missing (Debian: apt-get install {})",
            if musl { "musl-tools" } else { "gcc" }
        ));
    };
    let out = dir.join("floor");
    let mut command = Command::new(compiler);
    command.args(["-O2", "-o"]).arg(&out).arg(checkout().join("tests/benches/floor.c"));
    if is_static {
        command.arg("-static");
    }
    if musl {
        command.args(["-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"]);
    }
    let done = command.output().map_err(|error| error.to_string())?;
    if !done.status.success() {
        return Err(format!("it does not compile: {}", String::from_utf8_lossy(&done.stderr)));
    }
    // The very program that the product installs.
    let filter = skilljail::seccomp::shipped("default").expect("it is shipped");
    let mut bytes = Vec::new();
    for ins in filter.program() {
        bytes.extend(ins.code.to_ne_bytes());
        bytes.extend([ins.jt, ins.jf]);
        bytes.extend(ins.k.to_ne_bytes());
    }
    fs::write(dir.join("filter.bpf"), bytes).map_err(|error| error.to_string())?;
    Ok(out)
}
