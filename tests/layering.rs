//! The direction in which the modules of `src/` may name each other, and where a few dangerous words may stand.
//!
//! The table below is the architecture: `main -> cli -> cmd -> {audit, supervisor} -> plan`; `supervisor -> {layer, notify,
//! egress, payload, report} -> sys`; `plan -> layer -> {policy, skill, runtime, host}`. Nothing points up, there is no cycle, and no layer
//! names another. Comments, strings and unit tests do not count.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "layering/source.rs"]
mod source;

use source::{Words, words};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// What validates data and knows no plan.
const DATA: [&str; 5] = ["policy", "skill", "runtime", "host", "seccomp"];

/// Each module of the crate, and the modules that it may name. A module that is not here has no place yet: give it one.
fn allowed() -> BTreeMap<&'static str, Vec<&'static str>> {
    let with = |more: &[&'static str]| [DATA.as_slice(), more].concat();
    BTreeMap::from([
        ("main", vec!["cli", "cmd", "exit", "target"]),
        (
            "bin",
            with(&["cli", "cmd", "exit", "audit", "supervisor", "plan", "report", "render", "attack", "lab"]),
        ),
        (
            "lab",
            with(&[
                "cli",
                "cmd",
                "exit",
                "supervisor",
                "plan",
                "layer",
                "notify",
                "report",
                "sys",
                "target",
                "attack",
                "render",
                "digest",
            ]),
        ),
        ("lib", vec![]),
        ("cli", vec![]),
        ("exit", vec![]),
        (
            "cmd",
            with(&[
                "cli",
                "exit",
                "audit",
                "supervisor",
                "plan",
                "report",
                "render",
                "attack",
                "fuzz",
                "digest",
                "target",
            ]),
        ),
        ("render", with(&["audit", "plan", "report", "attack", "fuzz"])),
        ("attack", with(&["supervisor", "plan", "report", "sys", "digest"])),
        ("fuzz", with(&["attack", "supervisor", "plan", "report", "sys", "digest"])),
        ("audit", with(&["plan", "layer", "egress"])),
        ("supervisor", with(&["plan", "layer", "notify", "egress", "payload", "report", "sys", "digest"])),
        ("report", with(&["plan", "layer", "notify", "egress", "sys"])),
        ("plan", with(&["layer", "payload"])),
        ("payload", vec!["layer", "sys"]),
        ("notify", vec!["seccomp", "sys"]),
        ("egress", vec!["policy", "sys"]),
        ("layer", with(&["sys"])),
        ("policy", vec!["seccomp", "digest", "target"]),
        ("skill", vec!["sys"]),
        ("runtime", vec!["sys"]),
        ("host", vec!["sys"]),
        ("seccomp", vec![]),
        ("sys", vec!["seccomp"]),
        ("build", vec!["seccomp"]),
        ("digest", vec![]),
        ("target", vec!["sys"]),
        ("manual", vec![]),
    ])
}

/// A file of `src/`: its path below it, and its text.
type Files = Vec<(String, String)>;

/// The module that a file is: `layer/net.rs` is `[layer, net]`, `layer/mod.rs` is `[layer]`.
fn module_of(path: &str) -> Vec<&str> {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    stem.split('/').collect()
}

/// A path as the crate's root sees it: `super` and `self` resolved. `None` for paths of other crates.
fn absolute(module: &[&str], path: &[String]) -> Option<Vec<String>> {
    let own: Vec<String> = module.iter().map(|part| (*part).to_owned()).collect();
    let (mut base, mut rest) = match path.first()?.as_str() {
        "crate" | "skilljail" => (Vec::new(), &path[1..]),
        "self" => (own, &path[1..]),
        "super" => (own, path),
        _ => return None,
    };
    while rest.first().is_some_and(|part| part == "super") {
        base.pop();
        rest = &rest[1..];
    }
    Some([base, rest.to_vec()].concat())
}

/// Every breach of the rules, as one line each, sorted.
fn breaches(files: &Files) -> BTreeSet<String> {
    let table = allowed();
    let layers: BTreeSet<&str> = files
        .iter()
        .map(|(path, _)| module_of(path))
        // What the laboratory leaves out is said of all layers in one place, which is none.
        .filter(|m| m.len() > 1 && m[0] == "layer" && m[1] != "without")
        .map(|m| m[1])
        .collect();
    let mut found = BTreeSet::new();
    for (path, text) in files {
        let (module, words) = (module_of(path), words(text));
        found.extend(dangerous_words(path, &words));
        if module.iter().any(|part| ["utils", "util", "common", "helpers", "misc"].contains(part)) {
            found.insert(format!("{path}: a drawer for everything: name it after what it holds"));
        }
        let Some(may_name) = table.get(module[0]) else {
            found.insert(format!("{path}: the module {} has no place in the table", module[0]));
            continue;
        };
        for named in words.paths().iter().filter_map(|path| absolute(&module, path)) {
            let Some(top) = named.first().map(String::as_str) else { continue };
            if top != module[0] && table.contains_key(top) && !may_name.contains(&top) {
                found.insert(format!("{path}: {} must not name {top}", module[0]));
            }
            if let (["layer", own, ..], "layer", Some(other)) = (module.as_slice(), top, named.get(1))
                && other != own
                && layers.contains(other.as_str())
            {
                found.insert(format!("{path}: the layer {own} must not name the layer {other}"));
            }
        }
    }
    found
}

fn dangerous_words(path: &str, words: &Words) -> Vec<String> {
    let mut found = Vec::new();
    if words.contains(&["unsafe"]) && !path.starts_with("sys/") {
        found.push(format!("{path}: unsafe outside of src/sys"));
    }
    if words.contains(&["unsafe_code"]) && path != "lib.rs" {
        found.push(format!("{path}: allows unsafe_code"));
    }
    if words.contains(&["process", ":", ":", "exit"]) && !["main.rs", "exit.rs"].contains(&path) {
        found.push(format!("{path}: process::exit outside of main.rs and exit.rs"));
    }
    if words.contains(&["_exit"]) && !path.starts_with("sys/") {
        found.push(format!("{path}: _exit outside of src/sys"));
    }
    if words.contains(&["static", "mut"]) {
        found.push(format!("{path}: static mut"));
    }
    found
}

/// A cycle in the table itself would make "nothing points up" empty.
fn cycle(table: &BTreeMap<&str, Vec<&str>>) -> Option<String> {
    let mut left: BTreeSet<&str> = table.keys().copied().collect();
    loop {
        let free: Vec<&str> = left
            .iter()
            .filter(|module| !table[*module].iter().any(|named| left.contains(named)))
            .copied()
            .collect();
        if left.is_empty() {
            return None;
        }
        if free.is_empty() {
            return Some(left.into_iter().collect::<Vec<_>>().join(", "));
        }
        left.retain(|module| !free.contains(module));
    }
}

fn sources(folder: &Path, below: &str, files: &mut Files) {
    for entry in fs::read_dir(folder).unwrap() {
        let (path, name) =
            entry.map(|entry| (entry.path(), entry.file_name().into_string().unwrap())).unwrap();
        if path.is_dir() {
            sources(&path, &format!("{below}{name}/"), files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push((format!("{below}{name}"), fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn the_crate_keeps_its_direction() {
    let mut files = Files::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut files);
    assert!(files.len() > 10, "only {} files were found", files.len());
    let named: usize = files.iter().map(|(_, text)| words(text).paths().len()).sum();
    assert!(named > 20, "only {named} paths were found: the scanner is blind");
    let breaches: Vec<_> = breaches(&files).into_iter().collect();
    assert!(breaches.is_empty(), "\n{}\n", breaches.join("\n"));
}

#[test]
fn the_table_has_no_cycle_and_names_nothing_that_is_not_in_it() {
    let table = allowed();
    assert_eq!(cycle(&table), None);
    for (module, named) in &table {
        assert!(named.iter().all(|name| table.contains_key(name)), "{module}: {named:?}");
    }
    let looped = BTreeMap::from([("a", vec!["b"]), ("b", vec!["c"]), ("c", vec!["a"]), ("d", vec!["a"])]);
    assert_eq!(cycle(&looped).as_deref(), Some("a, b, c, d"));
}

#[test]
fn a_bad_tree_is_caught_breach_by_breach() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let bad = vec![
        file("main.rs", "fn main() { skilljail::supervisor::run(); std::process::exit(1) }"),
        file("plan.rs", "use crate::{layer, supervisor::{self, Outcome}};"),
        file("policy/mod.rs", "fn f() -> crate::plan::Plan { todo!() }"),
        file("cmd/run.rs", "use crate::sys::fork; use crate::layer::net;"),
        file("host.rs", "use super::cmd::Io;"),
        file("layer/net.rs", "use super::mounts::Mount; use super::Sealed; use crate::layer::seccomp;"),
        file("layer/mounts.rs", "pub struct Mount; fn f() { unsafe { g() } }"),
        file(
            "layer/seccomp.rs",
            "#![allow(unsafe_code)] static mut COUNT: u8 = 0; use std::process; fn f() { process::exit(2) }",
        ),
        file("audit/lint.rs", "use {crate::supervisor, std::fs};"),
        file("sys/fork.rs", "use crate::host::Host; unsafe fn f() { libc::_exit(0) }"),
        file("payload.rs", "fn f() { libc::_exit(0) }"),
        file("utils.rs", ""),
        file("egress/common.rs", ""),
        file("wizard.rs", ""),
    ];
    let found: Vec<_> = breaches(&bad).into_iter().collect();
    let expected = [
        "audit/lint.rs: audit must not name supervisor",
        "cmd/run.rs: cmd must not name layer",
        "cmd/run.rs: cmd must not name sys",
        "egress/common.rs: a drawer for everything: name it after what it holds",
        "host.rs: host must not name cmd",
        "layer/mounts.rs: unsafe outside of src/sys",
        "layer/net.rs: the layer net must not name the layer mounts",
        "layer/net.rs: the layer net must not name the layer seccomp",
        "layer/seccomp.rs: allows unsafe_code",
        "layer/seccomp.rs: process::exit outside of main.rs and exit.rs",
        "layer/seccomp.rs: static mut",
        "main.rs: main must not name supervisor",
        "payload.rs: _exit outside of src/sys",
        "plan.rs: plan must not name supervisor",
        "policy/mod.rs: policy must not name plan",
        "sys/fork.rs: sys must not name host",
        "utils.rs: a drawer for everything: name it after what it holds",
        "utils.rs: the module utils has no place in the table",
        "wizard.rs: the module wizard has no place in the table",
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_is_said_and_what_is_tested_does_not_count() {
    let text = r###"
//! use crate::supervisor; unsafe
/* crate::cmd /* nested */ unsafe */
const A: &str = "crate::cmd \" unsafe";
const B: &str = r#"crate::cli " unsafe"#;
const C: (char, char, &[u8]) = ('"', '\'', b"unsafe");
fn f<'a>(text: &'a str) -> &'a str { text }
use crate::sys;
#[cfg(test)]
#[allow(dead_code)]
mod tests { use crate::cmd; fn g() { unsafe {} } }
#[cfg(test)]
use crate::cli;
"###;
    assert_eq!(breaches(&vec![("host.rs".to_owned(), text.to_owned())]), BTreeSet::new());
    assert_eq!(words(text).paths(), [["crate", "sys"].map(str::to_owned).to_vec()]);
    // The control: the same words where they count.
    let loud = format!("{text}\nuse crate::cmd; fn h() {{ unsafe {{}} }}");
    assert_eq!(breaches(&vec![("host.rs".to_owned(), loud)]).len(), 2);
}

/// What the laboratory can do is not in the program that people install: neither its words nor the code behind them.
#[cfg(not(feature = "lab"))]
#[test]
fn the_program_cannot_leave_a_wall_out() {
    let program = fs::read(env!("CARGO_BIN_EXE_skilljail")).unwrap();
    let holds = |text: &str| program.windows(text.len()).any(|window| window == text.as_bytes());
    let source =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/layer/without.rs")).unwrap();
    let marker = source.split("pub const MARKER: &str = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(marker.len() > 20, "{marker:?}");
    // The control is what tests/layers finds in the laboratory, and here that the search finds what is there.
    assert!(holds("skilljail/outer-id/"));
    for text in [marker, "laboratory", "mounts.readonly", "LAB_"] {
        assert!(!holds(text), "{text:?} is in the program");
    }
}
