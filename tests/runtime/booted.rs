//! What a script finds in a booted tree.

use super::boot::boot;
use super::tree::{Built, build_into, scratch, shared, text};
use std::path::{Path, PathBuf};

const HOSTILE: [(&str, &str); 3] = [
    ("sitecustomize.py", "print('HOSTILE')\n"),
    ("usercustomize.py", "print('HOSTILE')\n"),
    ("json.py", "print('HOSTILE')\n"),
];

const EVERYTHING: &str = r#"
import sys
assert sys.flags.isolated and sys.flags.ignore_environment and sys.flags.safe_path and sys.flags.no_user_site
assert sys.flags.dont_write_bytecode and not sys.flags.no_site
version = "python%d.%d" % sys.version_info[:2]
lib = "/usr/lib/" + version
assert sys.path == [lib, lib + "/lib-dynload", lib + "/site-packages", "/skill/scripts"], sys.path
assert sys.prefix == sys.exec_prefix == sys.base_prefix == "/usr", sys.prefix
assert sys.executable == "/usr/bin/" + version, sys.executable
import json
assert json.__file__ == lib + "/json/__init__.py", json.__file__
assert json.__cached__.startswith(lib)
import asyncio, bz2, collections, concurrent.futures, contextlib, csv, ctypes, dataclasses, datetime, decimal, email
import enum, fractions, functools, hashlib, heapq, html, http.client, io, itertools, locale, logging, lzma, math
import multiprocessing, os, pathlib, pickle, pydoc, random, re, select, shutil, signal, socket, sqlite3, ssl
import statistics, string, struct, subprocess, tempfile, textwrap, threading, time, traceback, typing, unicodedata
import unittest, urllib.request, uuid, xml.etree.ElementTree, zipfile, zlib, zoneinfo
import beside
assert beside.VALUE == 7
assert ssl.create_default_context().cert_store_stats()["x509_ca"] > 50
summer = datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
assert summer.utcoffset() == datetime.timedelta(hours=2)
assert len(zoneinfo.available_timezones()) > 400
data = sqlite3.connect("/workdir/x.db")
assert data.execute("pragma journal_mode=wal").fetchone() == ("wal",)
data.execute("create table t (x)"); data.execute("insert into t values (1)"); data.commit()
seen = []
thread = threading.Thread(target=seen.append, args=(1,)); thread.start(); thread.join()
assert seen == [1]
assert asyncio.run(asyncio.sleep(0, 3)) == 3
assert "ä".encode() == b"\xc3\xa4" and open("/workdir/ä", "w").encoding.lower() == "utf-8"
assert hashlib.sha256(b"").hexdigest().startswith("e3b0c442")
try:
    socket.getaddrinfo("localhost", 80)
except OSError:
    pass
assert {"bin", "lib", "share"} <= set(os.listdir("/usr")) <= {"bin", "lib", "lib64", "share"}, os.listdir("/usr")
assert os.listdir("/usr/bin") == [version]
# Extension modules that nothing above loads: every one that was shipped must find its libraries.
import importlib
for name in sorted(os.listdir(lib + "/lib-dynload")):
    importlib.import_module(name.split(".")[0])
print("done")
quit(7)
"#;

fn everything_works_in(tree: &Path) {
    let mut scripts = vec![("main.py", EVERYTHING), ("beside.py", "VALUE = 7\n")];
    scripts.extend(HOSTILE);
    let output = boot(tree, &scripts);
    assert_eq!(text(&output.stdout), "done\n");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn the_default_interpreter_boots_with_nothing_else_around_it() {
    everything_works_in(&shared().tree);
}

#[test]
fn a_traceback_has_only_the_scripts_frames() {
    let built: &Built = &shared();
    let output = boot(&built.tree, &[("main.py", "def f():\n    raise ValueError('x')\nf()\n")]);
    assert_eq!(output.status.code(), Some(1));
    let frames: Vec<String> =
        text(&output.stderr).lines().filter(|line| line.contains("File ")).map(str::to_owned).collect();
    assert_eq!(
        frames,
        [
            r#"  File "/skill/scripts/main.py", line 3, in <module>"#,
            r#"  File "/skill/scripts/main.py", line 2, in f"#
        ]
    );
}

/// Debian's interpreter, and the newest of each supported version that pyenv has.
#[test]
fn each_interpreter_of_this_host_boots() {
    let mut pythons = vec![PathBuf::from("/usr/bin/python3"), PathBuf::from("/usr/local/bin/python3")];
    let versions =
        std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv/versions")).unwrap_or_default();
    for version in ["3.11", "3.12", "3.13"] {
        let installed = std::fs::read_dir(&versions).into_iter().flatten().flatten();
        let fits = |name: &str| name.strip_prefix(version).is_some_and(|rest| rest.starts_with('.'));
        pythons.extend(
            installed
                .filter(|entry| fits(&entry.file_name().to_string_lossy()))
                .map(|entry| entry.path().join("bin/python3"))
                .max(),
        );
    }
    let mut booted = 0;
    for python in pythons {
        if !python.exists() {
            eprintln!("SKIP: {} is not on this host", python.display());
            continue;
        }
        let base = scratch();
        let tree = base.path().join("runtime");
        build_into(&tree, Some(&python));
        everything_works_in(&tree);
        booted += 1;
    }
    assert!(booted > 0, "no interpreter of the usual places was there to try");
}
