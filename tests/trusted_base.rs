//! What the `core` build links is the trusted base of a production host: it grows on purpose only.
//!
//! After a deliberate change: `TRUSTED_BASE=write cargo test --test trusted_base`, and say in CONTRIBUTING.md why the
//! newcomer earns its place.
#![allow(
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and a skip says why"
)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;

/// One target, whatever the host: the list must read the same for everybody.
const TARGET: &str = "x86_64-unknown-linux-gnu";

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/trusted_base.txt")
}

/// The answer does not depend on the user, but cargo and its registry lie in the home of the one who built this.
fn skip<T>(said: &str) -> Option<T> {
    let builder = fs::metadata(env!("CARGO_MANIFEST_DIR")).expect("the checkout").uid();
    assert_ne!(builder, nix::unistd::geteuid().as_raw(), "cargo tree: {said}");
    eprintln!("SKIP: not the user who built this, and cargo does not work for this one: {said}");
    None
}

/// `name vVERSION` of what these features need, or `None` where this user cannot ask cargo.
fn tree(features: &[&str], edges: &str) -> Option<BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["tree", "--locked", "--offline", "--quiet", "--prefix", "none", "--format", "{p}"])
        .args(["--target", TARGET, "--edges", edges])
        .args(features)
        .output();
    let output = match output {
        Ok(output) if output.status.success() => output,
        Ok(output) => return skip(&String::from_utf8_lossy(&output.stderr)),
        Err(error) => return skip(&error.to_string()),
    };
    let text = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    // A path or `(proc-macro)` may follow.
    let words = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    Some(text.lines().map(words).filter(|line| !line.starts_with("skilljail ")).collect())
}

const CORE: [&str; 3] = ["--no-default-features", "--features", "core"];

#[test]
fn the_trusted_base_of_core_is_the_golden_list() {
    let Some(linked) = tree(&CORE, "normal,no-proc-macro") else { return };
    let compiling = tree(&CORE, "normal,build").expect("it worked a moment ago");
    let mut text = String::from(
        "# What `core` is made of; tests/trusted_base.rs compares it and says how to write it anew.\n\n# Linked into the program:\n",
    );
    linked.iter().for_each(|line| text.extend([line, "\n"]));
    text.push_str("\n# Only runs while it is compiled (macros, the build script and what they need):\n");
    compiling.difference(&linked).for_each(|line| text.extend([line, "\n"]));
    if std::env::var_os("TRUSTED_BASE").is_some_and(|word| word == "write") {
        fs::write(golden(), &text).expect("the list can be written");
    }
    let expected = fs::read_to_string(golden()).expect("the golden list");
    let (old, new): (BTreeSet<_>, BTreeSet<_>) = (expected.lines().collect(), text.lines().collect());
    assert_eq!(
        expected,
        text,
        "the trusted base differs: gone {:?}, new {:?}\nhint: where that is on purpose, run TRUSTED_BASE=write cargo test --test trusted_base",
        old.difference(&new).collect::<Vec<_>>(),
        new.difference(&old).collect::<Vec<_>>(),
    );
}

#[test]
fn core_links_no_parser_no_prover_and_no_generator() {
    let judges = |name: &str| {
        name.starts_with("ruff_")
            || ["seccompiler", "schemars", "clap_complete", "clap_mangen", "roff"].contains(&name)
    };
    let found = |linked: &BTreeSet<String>| -> Vec<String> {
        let names = linked.iter().filter_map(|line| line.split(' ').next());
        names.filter(|name| judges(name)).map(str::to_owned).collect()
    };
    let Some(core) = tree(&CORE, "normal") else { return };
    assert_eq!(found(&core), Vec::<String>::new());
    // The control: the full build has each of them, so the words above are right.
    let full = found(&tree(&[], "normal").expect("it worked a moment ago"));
    for name in ["ruff_python_parser", "seccompiler", "schemars", "clap_complete", "clap_mangen"] {
        assert!(full.iter().any(|found| found == name), "{name}: {full:?}");
    }
}
