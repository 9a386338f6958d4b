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
    let sources = sources(&folder);
    let mut code = String::from("pub(super) static BAKED: &[Baked] = &[\n");
    for (name, text) in &sources {
        let file = format!("seccomp/{name}.json");
        let filter = seccomp::json::parse(&file, text, &|base| sources.get(base).map(String::as_str));
        let programs = filter.and_then(|filter| seccomp::verify::build(&file, &filter));
        let programs = programs.unwrap_or_else(|e| panic!("{e}"));
        let digests = programs.each_ref().map(|p| digest(p));
        let path = folder.join(format!("{name}.json"));
        let _ = writeln!(
            code,
            "Baked {{ name: {name:?}, source: include_str!({path:?}), digests: {digests:?}, programs: [{}, {}] }},",
            array(&programs[0]),
            array(&programs[1])
        );
    }
    code.push_str("];\n");
    std::fs::write(Path::new(&out).join("filters.rs"), code).expect("OUT_DIR can be written");
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
