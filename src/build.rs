//! Compiles the filters in `seccomp/` and proves them, so that what is shipped needs no compiler and no prover.
//!
//! A filter that cannot be proven fails the build. The modules are the crate's own, included by path.

#![allow(dead_code, unreachable_pub, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

#[path = "seccomp"]
mod seccomp {
    pub mod bpf;
    pub mod constants;
    pub mod error;
    pub mod filter;
    pub mod guarantee;
    pub mod json;
    pub mod prove;
    pub mod reference;
    pub mod region;
    pub mod syscalls;
    pub mod tree;
    pub mod verify;
}

use seccomp::bpf::{SockFilter, digest};

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    let folder = Path::new(&root).join("seccomp");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed={root}/src/seccomp");
    println!("cargo::rerun-if-changed={root}/src/build.rs");
    println!("cargo::rerun-if-changed={root}/policies");
    let sources = sources(&folder);
    let mut compiled = BTreeMap::new();
    let mut code = String::from("pub(super) static BAKED: &[Baked] = &[\n");
    for (name, text) in &sources {
        let file = format!("seccomp/{name}.json");
        let filter = seccomp::json::parse(&file, text, &|base| sources.get(base).map(String::as_str));
        let programs = filter.and_then(|filter| seccomp::verify::build(&file, &filter));
        let programs = programs.unwrap_or_else(|e| panic!("{e}"));
        let digests = programs.each_ref().map(|p| digest(p));
        compiled.insert(name.as_str(), programs.clone());
        let path = folder.join(format!("{name}.json"));
        let _ = writeln!(
            code,
            "Baked {{ name: {name:?}, source: include_str!({path:?}), digests: {digests:?}, programs: [{}, {}] }},",
            array(&programs[0]),
            array(&programs[1])
        );
    }
    code.push_str("];\n");
    prove_policies(&Path::new(&root).join("policies"), &compiled);
    std::fs::write(Path::new(&out).join("filters.rs"), code).expect("OUT_DIR can be written");
    if std::env::var_os("CARGO_FEATURE_BATTERY").is_some() {
        println!("cargo::rerun-if-changed={root}/tests/attacks");
        println!("cargo::rerun-if-changed={root}/tests/probes");
        let code = battery(&Path::new(&root).join("tests"));
        std::fs::write(Path::new(&out).join("battery.rs"), code).expect("OUT_DIR can be written");
    }
}

/// The attacks and the legitimate probes, as tables of what they consist of.
fn battery(tests: &Path) -> String {
    let mut code = String::from("pub(super) static FOLDERS: &[Folder] = &[\n");
    let attacks = tests.join("attacks");
    for class in folders(&attacks) {
        for name in folders(&attacks.join(&class)) {
            let folder = attacks.join(&class).join(&name);
            let (case, script) = (folder.join("case.json"), folder.join("attack.py"));
            let _ = writeln!(
                code,
                "Folder {{ class: {class:?}, name: {name:?}, case: include_str!({case:?}), script: include_str!({script:?}) }},"
            );
        }
    }
    code.push_str("];\npub(super) static PROBES: &[(&str, &str)] = &[\n");
    for name in entries(&tests.join("probes")) {
        let path = tests.join("probes").join(&name);
        let name = name.trim_end_matches(".py");
        let _ = writeln!(code, "({name:?}, include_str!({path:?})),");
    }
    code.push_str("];\n");
    code
}

/// The names in a folder, sorted, so that every build makes the same program.
fn entries(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).expect("a folder of the battery is there");
    let mut names: Vec<_> = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.retain(|name| !name.starts_with(['.', '_']));
    names.sort();
    names
}

fn folders(folder: &Path) -> Vec<String> {
    let mut names = entries(folder);
    names.retain(|name| folder.join(name).is_dir());
    names
}

/// Proves what each policy in `policies/` promises of its filter; a promise that is broken fails the build.
fn prove_policies(
    folder: &Path,
    compiled: &BTreeMap<&str, [Vec<SockFilter>; seccomp::filter::Arch::ALL.len()]>,
) {
    for entry in std::fs::read_dir(folder).expect("the folder policies/ is there") {
        let path = entry.expect("the folder can be read").path();
        let text = std::fs::read_to_string(&path).expect("a policy is text");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let (Some(filter), Some(sentences)) = (value["filter"].as_str(), value["guarantees"].as_array())
        else {
            continue;
        };
        let shown = path.display();
        let programs = compiled.get(filter).unwrap_or_else(|| panic!("{shown}: no filter {filter:?}"));
        for sentence in sentences.iter().filter_map(serde_json::Value::as_str) {
            let parsed = seccomp::guarantee::parse(sentence)
                .unwrap_or_else(|(what, _)| panic!("{shown}: {sentence:?}: {what}"));
            for (arch, program) in seccomp::filter::Arch::ALL.into_iter().zip(programs) {
                if let Err(broken) = parsed.prove(arch, program) {
                    panic!("{shown}: {sentence:?} does not hold: {}", broken.witness);
                }
            }
        }
    }
}

/// Every filter by name.
fn sources(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).expect("the folder seccomp/ is there");
    let mut sources = BTreeMap::new();
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        let name = path.file_stem().and_then(|n| n.to_str()).unwrap_or_default();
        if path.extension().is_some_and(|e| e == "json") && name != "syscalls" {
            let text = std::fs::read_to_string(&path).expect("a filter is text");
            sources.insert(name.to_owned(), text);
        }
    }
    sources
}

fn array(program: &[SockFilter]) -> String {
    let mut text = String::from("&[");
    for i in program {
        let _ =
            write!(text, "SockFilter {{ code: {}, jt: {}, jf: {}, k: {:#x} }}, ", i.code, i.jt, i.jf, i.k);
    }
    text.push(']');
    text
}
