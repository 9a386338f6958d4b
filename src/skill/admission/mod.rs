//! The review of a skill's Python by its grammar.
//!
//! It is a review aid. Whoever wants to hide a call from a reader of source can; the jail holds without this review, and
//! `run` does not even look. What it is good for: honest mistakes, scripts written for another place, and an
//! overview of what a reviewer must read.

mod lists;
mod names;
mod nesting;
mod stdlib;
mod visit;

use super::env::SkillEnv;
use super::finding::{Finding, shown};
use super::package::Entry;
use super::rules;
use super::{Skill, contract};
use ruff_python_ast::PythonVersion;
use ruff_python_parser::{Mode, ParseOptions, parse};
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// Larger files are not reviewed.
pub const MAX_SOURCE: usize = 1 << 20;
/// A file's findings end here.
const MAX_FINDINGS: usize = 200;
/// The visitor recurses as deep as [`nesting`] lets source nest; debug builds need some ten kilobytes a level. Only what is
/// used is ever backed by memory, but a host that does not overcommit counts all of it.
const STACK: usize = 64 << 20;

/// What the scripts of a skill may count on.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// `network: egress`.
    pub egress: bool,
    /// Declared environment variables.
    pub declared: HashSet<String>,
    /// Modules of the skill's own.
    pub local: HashSet<String>,
    /// Modules of the runtime, if one is known.
    pub runtime: Option<BTreeSet<String>>,
}

impl Surroundings {
    /// Of a skill, and the modules of a runtime.
    pub fn of(skill: &Skill, runtime: Option<BTreeSet<String>>) -> Self {
        let egress = skill.contract().is_some_and(|contract| contract.network == contract::Network::Egress);
        let declared = SkillEnv::keys(skill.env()).map(str::to_owned).collect();
        Self { egress, declared, local: own_modules(&skill.listing().entries), runtime }
    }
}

/// Names under which a skill's own files can be imported: stems of `*.py`, and folders, below `scripts/`.
fn own_modules(entries: &[Entry]) -> HashSet<String> {
    let mut names = HashSet::new();
    for path in entries.iter().filter_map(|entry| entry.path.strip_prefix("scripts/")) {
        for part in path.split('/') {
            names.insert(part.strip_suffix(".py").unwrap_or(part).to_owned());
        }
    }
    names
}

/// The names of the modules in a runtime's tree: what lies in its `lib/python3.*`, `lib-dynload`, `site-packages` and
/// `dist-packages`, wherever in the tree these are.
///
/// # Errors
///
/// The tree cannot be listed, or there is no such folder in it.
pub fn modules_of_runtime(tree: &Path) -> std::io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut queue = vec![(tree.to_path_buf(), 0)];
    let mut looked = 0;
    while let Some((folder, depth)) = queue.pop() {
        looked += 1;
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let holds = name.starts_with("python3.")
            || matches!(&*name, "lib-dynload" | "site-packages" | "dist-packages");
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if holds && let Some(module) = name.split('.').next() {
                names.insert(module.to_owned());
            }
            let onward = !holds || matches!(&*name, "lib-dynload" | "site-packages" | "dist-packages");
            if onward && depth < 6 && looked < 2_000 && entry.file_type()?.is_dir() {
                queue.push((entry.path(), depth + 1));
            }
        }
    }
    if names.is_empty() {
        return Err(std::io::Error::new(std::io::ErrorKind::NotFound, "no lib/python3.* in it"));
    }
    Ok(names)
}

/// Whether the review reads a file.
pub fn is_source(path: &str) -> bool {
    contract::has_extension(path, "py") || contract::has_extension(path, "pyw")
}

/// Reviews Python files, each with its path below the skill.
pub fn review(files: &[(&str, &[u8])], around: &Surroundings) -> Vec<Finding> {
    let work = || files.iter().flat_map(|(path, bytes)| one(path, bytes, around)).collect();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        match thread.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(findings)) => findings,
            // Out of threads, or a fault of the parser: what was not reviewed did not pass.
            _ => vec![Finding::of(&rules::PYTHON_BIG, "", "the review could not be done")],
        }
    })
}

fn one(path: &str, bytes: &[u8], around: &Surroundings) -> Vec<Finding> {
    let finding = |rule, what: String| Finding::of(rule, path, what);
    if bytes.len() > MAX_SOURCE {
        return vec![finding(&rules::PYTHON_BIG, "more than 1 MiB of source".into())];
    }
    let Ok(source) = std::str::from_utf8(bytes) else {
        return vec![finding(&rules::PYTHON_SYNTAX, "the source is not UTF-8".into())];
    };
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let places = Places::of(source);
    let at = |finding: Finding, offset: usize| {
        let (line, column) = places.place(offset);
        finding.at(line, column)
    };
    if source.contains('\0') {
        let offset = source.find('\0').unwrap_or(0);
        return vec![at(finding(&rules::PYTHON_SYNTAX, "a NUL byte in the source".into()), offset)];
    }
    if let Err(deep) = nesting::check(source) {
        return vec![at(
            finding(&rules::PYTHON_BIG, format!("more {} than the review reads", deep.what)),
            deep.at,
        )];
    }
    let options = ParseOptions::from(Mode::Module).with_target_version(PythonVersion::latest_preview());
    let module = match parse(source, options) {
        Ok(module) => module,
        Err(error) => {
            let what = shown(&error.error.to_string());
            return vec![at(
                finding(&rules::PYTHON_SYNTAX, format!("not Python: {what}")),
                error.location.start().to_usize(),
            )];
        }
    };
    let ruff_python_ast::Mod::Module(module) = module.syntax() else { return Vec::new() };
    let mut marks = visit::marks(&module.body, around);
    marks.sort_by_key(|mark| mark.at);
    marks.dedup();
    marks.truncate(MAX_FINDINGS);
    marks
        .into_iter()
        .map(|mark| Finding { hint: mark.hint, ..at(finding(mark.rule, mark.what), mark.at) })
        .collect()
}

/// Whether a file looks like a program: `if __name__ == "__main__"` at its top level.
pub fn is_program(bytes: &[u8]) -> bool {
    bytes.split(|b| *b == b'\n').any(|line| {
        line.starts_with(b"if __name__ ==") && line.windows(8).any(|window| window == b"__main__")
    })
}

/// Lines and columns of offsets, without a walk through the source for each.
struct Places<'a> {
    source: &'a str,
    starts: Vec<usize>,
}

impl<'a> Places<'a> {
    fn of(source: &'a str) -> Self {
        let newlines = source.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        Self { source, starts: std::iter::once(0).chain(newlines).collect() }
    }

    fn place(&self, offset: usize) -> (u32, u32) {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        // A line may be the whole file: its columns are counted up to a bound.
        let column =
            self.source.get(start..offset.min(start + 4_096)).map_or(0, |text| text.chars().count() + 1);
        (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(0))
    }
}

/// The offset at which a node begins.
fn start(node: &impl ruff_text_size::Ranged) -> usize {
    node.start().to_usize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(source: &str, around: &Surroundings) -> Vec<(&'static str, u32)> {
        review(&[("scripts/a.py", source.as_bytes())], around).iter().map(|f| (f.rule.name, f.line)).collect()
    }

    fn found(source: &str) -> Vec<(&'static str, u32)> {
        with(source, &Surroundings::default())
    }

    #[test]
    fn imports_however_they_are_written() {
        for source in [
            "import subprocess",
            "import subprocess as json",
            "import json, subprocess",
            "from subprocess import run",
            "from multiprocessing import Pool",
            "import multiprocessing.pool",
            "from concurrent.futures import process",
            "import ctypes.util",
            "__import__('subprocess')",
            "__import__('subprocess').run([])",
            "import importlib\nimportlib.import_module('subprocess')",
            "from importlib import import_module as load\nload('subprocess')",
            "import importlib as i\nm = i.import_module('subprocess')",
            "def f():\n    try:\n        import subprocess\n    except ImportError: pass",
            "load = __import__\nload('ctypes')",
            "getattr(__builtins__, '__import__')('ctypes')",
        ] {
            assert_eq!(found(source).first().map(|f| f.0), Some("import-forbidden"), "{source}");
        }
        for source in [
            "import json",
            "from os import path",
            "import subprocess_helper",
            "x = 'import subprocess'",
            "# import subprocess",
        ] {
            assert_eq!(found(source), [], "{source}");
        }
    }

    #[test]
    fn egress_lifts_three_modules_and_no_more() {
        let egress = Surroundings { egress: true, ..Surroundings::default() };
        for source in [
            "import socket",
            "import ssl",
            "import http.client",
            "from http import client",
            "import http.client as h",
        ] {
            assert_eq!(found(source), [("import-network", 1)], "{source}");
            assert_eq!(with(source, &egress), [], "{source}");
        }
        for source in [
            "import http.server",
            "from http import server",
            "import urllib.request",
            "from urllib import request",
            "import requests",
            "import ftplib",
            "import _socket",
        ] {
            assert_eq!(found(source), [("import-network", 1)], "{source}");
            assert_eq!(with(source, &egress), [("import-network", 1)], "{source}");
        }
        assert_eq!(with("import subprocess", &egress), [("import-forbidden", 1)]);
        assert_eq!(found("from http import HTTPStatus\nfrom urllib import parse"), []);
    }

    #[test]
    fn calls_however_they_are_reached() {
        for source in [
            "import os\nos.system('x')",
            "import os as o\no.popen('x')",
            "from os import system\nsystem('x')",
            "from os import system as s\ns('x')",
            "from os import *\nsystem('x')",
            "import os\nf = os.execv\nf('/bin/sh', [])",
            "import os\nos.execvpe('a', [], {})",
            "import os\nos.fork()",
            "import os\nlist(map(os.system, ['x']))",
            "import os\ngetattr(os, 'system')('x')",
            "import os\nos.__dict__['system']('x')",
            "import os\nvars(os)['system']('x')",
            "import sys\nsys.modules['os'].system('x')",
            "__import__('os').system('x')",
            "import os\n(o := os).system('x')",
            "import os.path\nos.kill(1, 9)",
            "import asyncio\nasyncio.create_subprocess_shell('x')",
            "from concurrent.futures import ProcessPoolExecutor\nProcessPoolExecutor()",
        ] {
            let found = found(source);
            assert!(found.iter().any(|f| f.0 == "call-process"), "{source}: {found:?}");
        }
        for source in [
            "import os\nos.getcwd()",
            "system('x')",
            "class A:\n    def kill(self): self.kill()",
            "import re\nre.compile('x')",
        ] {
            assert_eq!(found(source), [], "{source}");
        }
        assert!(found("import pty\npty.spawn('sh')").contains(&("call-process", 2)));
    }

    #[test]
    fn code_made_at_run_time() {
        for source in [
            "eval('1')",
            "exec('1')",
            "compile('1', 'a', 'exec')",
            "import builtins\nbuiltins.eval('1')",
            "e = eval\ne('1')",
            "__builtins__['exec']('1')",
            "__builtins__.__dict__['eval']('1')",
            "import marshal\nmarshal.loads(b'')",
        ] {
            assert!(found(source).iter().any(|f| f.0 == "call-eval"), "{source}");
        }
        for source in [
            "import ast\nast.literal_eval('1')",
            "model.eval()",
            "def eval(x): return x\neval(1)",
            "print(eval)",
        ] {
            assert_eq!(found(source), [], "{source}");
        }
        for source in ["__import__(name)", "import importlib\nimportlib.import_module('a' + b)"] {
            assert!(found(source).iter().any(|f| f.0 == "import-dynamic"), "{source}");
        }
    }

    #[test]
    fn writes_outside() {
        for source in [
            "open('/etc/x', 'w')",
            "open('/etc/x', mode='a')",
            "open(file='/etc/x', mode='x')",
            "open('/etc/x', 'r+b')",
            "with open('/workdir/../etc/x', 'w') as f: pass",
            "open(f'/etc/{x}', 'w')",
            "open('/etc/' + x, 'w')",
            "import io\nio.open('/etc/x', 'w')",
            "from pathlib import Path\nPath('/etc/x').write_text('')",
            "import pathlib\npathlib.Path('/etc/x').open('w')",
            "from pathlib import Path\n(Path('/etc') / 'x').write_bytes(b'')",
            "import os\nos.makedirs('/var/x')",
            "import shutil\nshutil.copy('a', '/etc/x')",
        ] {
            assert!(found(source).iter().any(|f| f.0 == "write-outside"), "{source}");
        }
        for source in [
            "open('/etc/x')",
            "open('/etc/x', 'rb')",
            "open('x', 'w')",
            "open('/workdir/out/x', 'w')",
            "open('/tmp/x', 'w')",
            "open(f'/tmp/{x}', 'w')",
            "open('/skill/out/x', 'w')",
            "open(path, 'w')",
            "from pathlib import Path\nPath('/workdir/x').write_text('')\nPath('/etc/x').read_text()",
            "'/a/b'.replace('a', 'b')",
        ] {
            assert_eq!(found(source), [], "{source}");
        }
    }

    #[test]
    fn arguments_and_environment() {
        for source in [
            "import sys\nsys.argv[1]",
            "from sys import argv",
            "import argparse\np = argparse.ArgumentParser()\np.parse_args()",
        ] {
            assert!(found(source).iter().any(|f| f.0 == "reads-argv"), "{source}");
        }
        assert_eq!(found("import argparse\nargparse.ArgumentParser().parse_args(['x'])"), []);
        let declared = Surroundings { declared: ["KEY".to_owned()].into(), ..Surroundings::default() };
        for source in
            ["os.environ['KEY']", "os.environ.get('KEY')", "os.getenv('KEY', 'x')", "'KEY' in os.environ"]
        {
            let source = format!("import os\n{source}");
            assert_eq!(found(&source), [("reads-environ", 2)], "{source}");
            assert_eq!(with(&source, &declared), [], "{source}");
        }
        for source in [
            "dict(os.environ)",
            "os.environ.items()",
            "os.environ[name]",
            "os.getenv(name)",
            "for k in os.environ: pass",
        ] {
            assert_eq!(with(&format!("import os\n{source}"), &declared), [("reads-environ", 2)], "{source}");
        }
        assert_eq!(with("from os import environ as e\ne['OTHER']", &declared), [("reads-environ", 2)]);
        assert_eq!(
            found(
                "import os\nos.environ['MPLBACKEND'] = 'Agg'\nos.environ['HOME']\nos.environ['TFROBOT_SKILL_DIR']"
            ),
            []
        );
    }

    #[test]
    fn modules_that_are_not_there() {
        let around = Surroundings {
            local: ["helper".to_owned()].into(),
            runtime: Some(["numpy".to_owned()].into()),
            ..Surroundings::default()
        };
        let source = "import json, numpy.linalg, helper\nimport pandas\nfrom . import x\nimport zoneinfo\n";
        assert_eq!(with(source, &around), [("import-absent", 2)]);
        assert_eq!(found(source), []);
        let guarded = "try:\n    import pandas\nexcept ImportError:\n    pandas = None\n";
        assert_eq!(with(guarded, &around), []);
    }

    #[test]
    fn the_newest_grammar_and_what_is_none() {
        for source in [
            "match x:\n    case {'a': [1, *_]} if y: pass\n",
            "type A[T] = list[T]\ndef f[T: int](x: T) -> T: ...\n",
            "x = f'{d[\"a\"]:{'>'}10}'\n",
            "x = t'{name}'\n",
            "try: pass\nexcept* ValueError: pass\n",
            "try: pass\nexcept A, B: pass\n",
            "async def f():\n    return [x async for x in y]\n",
            "if (n := 10) > 5: pass\n",
        ] {
            assert_eq!(found(source), [], "{source}");
        }
        assert_eq!(found("x = 1\ndef f(:\n"), [("python-syntax", 2)]);
        assert_eq!(found("x = 1\0"), [("python-syntax", 1)]);
        assert_eq!(found(&format!("x = {}", "(".repeat(100_000))), [("python-too-big", 1)]);
        assert_eq!(review(&[("a.py", b"\xff")], &Surroundings::default())[0].rule.name, "python-syntax");
    }

    #[test]
    fn depth_at_the_bound_is_survived() {
        for source in [
            format!("x = {}1", "-".repeat(1_990)),
            format!("x = a{}", ".b".repeat(990)),
            format!("x = {}1", "1 + ".repeat(990)),
            format!("x = {}", "lambda: ".repeat(990) + "1"),
            format!("x = {}1{}", "(".repeat(90), ")".repeat(90)),
            (0..90).map(|n| " ".repeat(n) + "if 1:\n").collect::<String>() + &" ".repeat(91) + "pass\n",
        ] {
            assert_eq!(found(&source), [], "{source:.40}");
        }
    }
}
