//! Every row of the table "the inside of the jail", and every sentence on the process, seen by a script in it
//! (`inside/facts.py`) and, where only the outside can know, read from the kernel while the script waits.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "what fails here fails a test")]

mod support;

#[path = "inside/files.rs"]
mod files;
#[path = "inside/from_outside.rs"]
mod from_outside;
#[path = "inside/process.rs"]
mod process;
#[path = "inside/python.rs"]
mod python;

use serde_json::{Value, json};
use std::sync::OnceLock;
use support::{Ran, Skill};

/// What a script saw in the default jail, once for all tests: its skill is full of what must not take effect.
fn seen() -> &'static Value {
    static SEEN: OnceLock<Value> = OnceLock::new();
    SEEN.get_or_init(|| {
        let ran = look("default");
        assert_eq!(ran.status(), "ok", "{ran:#?}");
        ran.value()
    })
}

fn look(policy: &str) -> Ran {
    const PLANT: &str = "import os\nos.environ['PLANTED'] = __file__\n";
    let skill = Skill::with_files(
        include_str!("inside/facts.py"),
        &[
            ("scripts/beside.py", "WORD = 'found'\n"),
            ("scripts/sitecustomize.py", PLANT),
            ("scripts/usercustomize.py", PLANT),
            ("scripts/json.py", PLANT),
            ("scripts/planted.pth", "import os; os.environ['PLANTED'] = 'pth'\n"),
            ("scripts/pyvenv.cfg", "home = /skill\ninclude-system-site-packages = true\n"),
            ("sitecustomize.py", PLANT),
            (".skillenv", "MODE=fast\nAPI_KEY=\n"),
            ("references/notes.md", "Notes.\n"),
        ],
    );
    let data = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(data.path(), "a,b\n1,2\n").unwrap();
    let secrets = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secrets.path(), "API_KEY=s3cret-canary\nOTHER=not-for-this-skill\n").unwrap();
    let word = |option: &str, path: &std::path::Path| format!("{option}{}", path.display());
    skill
        .run()
        .input(r#"{"text": "hello"}"#)
        .args(["--policy", policy, "--session", "s-1", "--robot", "r-2"])
        .args(["--in".to_owned(), word("data.csv=", data.path())])
        .args(["--secrets".to_owned(), word("", secrets.path())])
        .tweak(|command| {
            for (name, value) in [
                ("PYTHONPATH", "/skill"),
                ("PYTHONSTARTUP", "/skill/sitecustomize.py"),
                ("PYTHONINSPECT", "1"),
                ("PYTHONHOME", "/nonexistent"),
                ("GLIBC_TUNABLES", "glibc.malloc.check=3"),
                ("MALLOC_PERTURB_", "7"),
                ("OPENSSL_CONF", "/nonexistent"),
                ("SSLKEYLOGFILE", "/tmp/keys"),
                ("CALLER_SECRET", "of the daemon"),
            ] {
                command.env(name, value);
            }
        })
        .go()
}

#[test]
fn the_result_comes_from_a_jail_that_holds() {
    let ran = Skill::new("print('{\"a\": 1}')").run().go();
    assert_eq!(ran.value(), json!({"a": 1}));
    assert_eq!(ran.code, 0);
    for layer in ran.report["layers"].as_array().unwrap() {
        assert_ne!(layer["enforced"], "none", "{layer}");
    }
}
