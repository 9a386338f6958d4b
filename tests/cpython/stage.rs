//! What the runs share: a runtime of the very interpreter that the tests belong to, a skill that carries them, a policy.

use crate::support::{self, Skill};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The interpreter, and the control's.
pub(crate) const PYTHON: &str = "/usr/bin/python3";
/// What of CPython's `test` package the modules need: more would be over a skill's bounds.
const PARTS: [&str; 16] = [
    "__init__.py",
    "support",
    "datetimetester.py",
    "decimaltestdata",
    "lock_tests.py",
    "re_tests.py",
    "test_collections.py",
    "test_csv.py",
    "test_datetime.py",
    "test_decimal.py",
    "test_hashlib.py",
    "test_itertools.py",
    "test_json",
    "test_re.py",
    "test_statistics.py",
    "test_threading.py",
];
const CONTRACT: &str = r#"{"scripts": {
    "run_module.py": {"description": "Runs a test module.", "parameters": {"type": "object", "properties": {
        "module": {"type": "string", "description": "Such as test_json.", "maxLength": 64}}, "required": ["module"]}},
    "run_code.py": {"description": "Runs a code.", "parameters": {"type": "object", "properties": {}}}}}"#;

pub(crate) struct Stage {
    pub(crate) runtime: PathBuf,
    pub(crate) skill: Skill,
    pub(crate) policy: PathBuf,
    /// Such as `3.11`.
    pub(crate) version: String,
    _scratch: tempfile::TempDir,
}

pub(crate) fn stage() -> &'static Stage {
    static STAGE: OnceLock<Stage> = OnceLock::new();
    STAGE.get_or_init(build)
}

fn ask(code: &str) -> String {
    let output = Command::new(PYTHON).args(["-I", "-c", code]).output().expect("/usr/bin/python3 starts");
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

fn build() -> Stage {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    // Not the runtime that other tests share: that one may be older than the tests that are installed now.
    let runtime = scratch.path().join("runtime");
    let mut command = Command::new(support::SKILLJAIL);
    command.args(["runtime", "build", "--python", PYTHON, "--out"]).arg(&runtime);
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "runtime build: {}", String::from_utf8_lossy(&output.stderr));
    let policy = scratch.path().join("policy.json");
    fs::write(&policy, patient_policy().to_string()).expect("the policy can be written");
    let version = ask("import sys; print('%d.%d' % sys.version_info[:2])");
    Stage { runtime, skill: skill(&version), policy, version, _scratch: scratch }
}

/// `default` with ten minutes instead of half of one: a suite is no call of an agent, and the machine may be busy.
fn patient_policy() -> Value {
    let mut policy = default_policy();
    for (limit, field) in [("wall", "value"), ("wall", "max"), ("cpu", "value")] {
        policy["limits"][limit][field] = "600 s".into();
    }
    policy
}

fn default_policy() -> Value {
    let text = fs::read(support::checkout().join("policies/default.json")).expect("the shipped policy");
    serde_json::from_slice(&text).expect("it is JSON")
}

fn skill(version: &str) -> Skill {
    let stdlib = PathBuf::from(ask("import sysconfig; print(sysconfig.get_path('stdlib'))"));
    let tests = stdlib.join("test");
    let hint = format!("hint: apt-get install libpython{version}-testsuite");
    let skill = Skill::with_files(
        "",
        &[
            ("xray.json", CONTRACT),
            ("scripts/run_module.py", include_str!("run_module.py")),
            ("scripts/run_code.py", include_str!("run_code.py")),
        ],
    );
    let to = skill.path().join("scripts/test");
    fs::create_dir(&to).expect("a directory");
    for part in PARTS {
        assert!(tests.join(part).exists(), "{} has no {part}\n{hint}", tests.display());
        copy(&tests.join(part), &to.join(part));
    }
    copy(&tests.join("test_zoneinfo"), &to.join("test_zoneinfo"));
    let sqlite = support::checkout().join(".run/cpython").join(version).join("test_sqlite3");
    assert!(sqlite.exists(), "no {}\nhint: make test-cpython fetches it", sqlite.display());
    copy(&sqlite, &to.join("test_sqlite3"));
    skill
}

fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::copy(from, to).expect("a test can be copied");
        return;
    }
    fs::create_dir(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        if entry.file_name() != "__pycache__" {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    }
}

pub(crate) fn only_time_differs() {
    let (mut patient, mut default) = (patient_policy(), default_policy());
    for policy in [&mut patient, &mut default] {
        let limits = policy["limits"].as_object_mut().expect("limits");
        assert!(limits.remove("wall").is_some() && limits.remove("cpu").is_some());
    }
    assert_eq!(patient, default);
    let probe = Skill::new("print('{}')");
    let layers = |report: &Value| report["layers"].clone();
    let by_default = probe.run().go();
    let by_ours = probe.run().args(["--policy".as_ref(), stage().policy.as_os_str()]).go();
    assert_eq!(by_ours.report["digests"]["filter"], by_default.report["digests"]["filter"]);
    assert_eq!(layers(&by_ours.report), layers(&by_default.report));
    assert_eq!((by_ours.status(), by_default.status()), ("ok", "ok"));
}
