//! What is found when a tree is not what was built, and whose tree is refused.

use super::tree::{copy, names, run, scratch, shared, skilljail, text};
use skilljail::runtime::{Drift, Runtime, RuntimeError, Verified, Verify, drift};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

fn stdlib(tree: &Path) -> PathBuf {
    tree.join("usr/lib").join(names(&tree.join("usr/bin")).remove(0))
}

fn interpreter(tree: &Path) -> PathBuf {
    tree.join("usr/bin").join(names(&tree.join("usr/bin")).remove(0))
}

/// Changes the last byte and nothing else that is easy to see: size, mode and mtime stay.
fn spoil(path: &Path) {
    let meta = path.metadata().expect("stat");
    let (mode, modified) = (meta.permissions(), meta.modified().expect("mtime"));
    fs::set_permissions(path, Permissions::from_mode(0o644)).expect("chmod");
    let mut bytes = fs::read(path).expect("read");
    *bytes.last_mut().expect("a byte") ^= 1;
    fs::write(path, bytes).expect("write");
    let file = fs::File::open(path).expect("open");
    file.set_modified(modified).expect("utimes");
    fs::set_permissions(path, mode).expect("chmod");
}

#[test]
fn a_whole_tree_opens_and_says_what_it_is() {
    let built = shared();
    let quick = Runtime::open(&built.tree, Verify::Identity).expect("identity");
    let full = Runtime::open(&built.tree, Verify::Full).expect("full");
    assert_eq!((quick.verified(), full.verified()), (Verified::Identity, Verified::Full));
    assert_eq!(quick.digest(), full.digest());
    assert!(quick.digest().starts_with("sha256:") && quick.digest().len() == 71);
    assert!(quick.interpreter_path().starts_with("/usr/bin/python3."));
    assert!(built.tree.join(quick.loader_path().trim_start_matches('/')).is_file());
    assert_eq!(quick.argv_prefix().first(), Some(&quick.interpreter_path()));
    assert!(quick.packages().is_empty() && quick.sets().is_empty());

    let output = run(skilljail().args(["runtime", "verify", "--runtime"]).arg(&built.tree));
    assert_eq!(output.status.code(), Some(0));
    let output = run(skilljail().args(["runtime", "show", "--format", "json", "--runtime"]).arg(&built.tree));
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(shown["digest"], quick.digest());
    assert_eq!(shown["verified"], "identity");
}

#[test]
fn the_executed_file_is_the_checked_one() {
    use std::os::unix::fs::MetadataExt as _;
    let built = shared();
    let (_base, tree) = copy(&built);
    let runtime = Runtime::open(&tree, Verify::Identity).expect("a copy opens");
    let before = interpreter(&tree).metadata().expect("stat").ino();
    // Whoever swaps the path afterwards changes nothing for the run that is under way.
    fs::rename(interpreter(&tree), tree.join("usr/away")).expect("rename");
    fs::write(tree.join("usr/bin").join("python3"), "other").expect("write");
    let held = fs::File::from(runtime.interpreter().try_clone_to_owned().expect("dup"));
    assert_eq!(held.metadata().expect("fstat").ino(), before);
}

#[test]
fn verify_lists_every_difference_and_exits_1() {
    let built = shared();
    let (_base, tree) = copy(&built);
    let library = stdlib(&tree);
    spoil(&library.join("json/decoder.py"));
    fs::remove_file(library.join("json/encoder.py")).expect("remove");
    fs::write(library.join("added.py"), "").expect("write");
    fs::create_dir(tree.join("usr/sbin")).expect("mkdir");
    fs::set_permissions(library.join("csv.py"), Permissions::from_mode(0o4555)).expect("chmod");
    fs::remove_file(library.join("re/_parser.py")).expect("remove");
    symlink("/etc/passwd", library.join("re/_parser.py")).expect("link");
    fs::set_permissions(library.join("re"), Permissions::from_mode(0o777)).expect("chmod");

    let (_, found) = drift(&tree).expect("a comparison");
    let prefix = library.strip_prefix(&tree).expect("below").to_str().expect("UTF-8").to_owned();
    let kinds: Vec<(String, &str)> = found
        .iter()
        .map(|difference| {
            let kind = match difference {
                Drift::Added { .. } => "added",
                Drift::Missing { .. } => "missing",
                Drift::Changed { .. } => "changed",
            };
            (difference.path().replace(&prefix, "LIB"), kind)
        })
        .collect();
    let expected = [
        ("LIB/added.py", "added"),
        ("LIB/csv.py", "changed"),
        ("LIB/json/decoder.py", "changed"),
        ("LIB/json/encoder.py", "missing"),
        ("LIB/re", "changed"),
        ("LIB/re/_parser.py", "changed"),
        ("usr/sbin", "added"),
    ];
    assert_eq!(kinds, expected.map(|(path, kind)| (path.to_owned(), kind)));

    let output = run(skilljail().args(["runtime", "verify", "--runtime"]).arg(&tree));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout).lines().count(), expected.len());
    assert!(matches!(Runtime::open(&tree, Verify::Full), Err(RuntimeError::Drift { .. })));
}

#[test]
fn identity_finds_every_key_file_and_says_that_it_does_not_look_at_others() {
    let built = shared();
    let (_base, tree) = copy(&built);
    Runtime::open(&tree, Verify::Identity).expect("control: an untouched copy, by sums");
    let runtime = Runtime::open(&built.tree, Verify::Identity).expect("control: the original");
    let libraries = tree.join("usr/lib").join("x86_64-linux-gnu/libc.so.6");
    let mut keys = vec![
        interpreter(&tree),
        tree.join(runtime.loader_path().trim_start_matches('/')),
        stdlib(&tree).join("sitecustomize.py"),
    ];
    keys.extend(Some(libraries).filter(|path| path.exists()));
    for key in keys {
        let kept = fs::read(&key).expect("read");
        spoil(&key);
        let error = Runtime::open(&tree, Verify::Identity).expect_err("spoiled");
        assert!(matches!(error, RuntimeError::Drift { .. }), "{}: {error}", key.display());
        fs::set_permissions(&key, Permissions::from_mode(0o644)).expect("chmod");
        fs::write(&key, kept).expect("write");
        let mode = if key.starts_with(tree.join("usr/bin")) || key.to_string_lossy().contains("/ld-") {
            0o555
        } else {
            0o444
        };
        fs::set_permissions(&key, Permissions::from_mode(mode)).expect("chmod");
        Runtime::open(&tree, Verify::Identity).expect("control: put back");
    }
    // The documented limit.
    spoil(&stdlib(&tree).join("json/decoder.py"));
    Runtime::open(&tree, Verify::Identity).expect("identity looks at key files only");
    assert!(matches!(Runtime::open(&tree, Verify::Full), Err(RuntimeError::Drift { .. })));
}

#[test]
fn a_copy_is_recorded_anew_only_when_it_is_whole() {
    let built = shared();
    let (_base, tree) = copy(&built);
    let before = fs::read(tree.join("runtime.identity")).expect("read");
    let record =
        || run(skilljail().args(["runtime", "verify", "--record", "--runtime"]).arg(&tree)).status.code();
    let module = stdlib(&tree).join("csv.py");
    let kept = fs::read(&module).expect("read");
    spoil(&module);
    assert_eq!(record(), Some(1));
    assert_eq!(fs::read(tree.join("runtime.identity")).expect("read"), before);
    fs::set_permissions(&module, Permissions::from_mode(0o644)).expect("chmod");
    fs::write(&module, kept).expect("write");
    fs::set_permissions(&module, Permissions::from_mode(0o444)).expect("chmod");
    assert_eq!(record(), Some(0));
    assert_ne!(fs::read(tree.join("runtime.identity")).expect("read"), before, "inodes of the copy");
    Runtime::open(&tree, Verify::Full).expect("still whole");
}

#[test]
fn a_lock_that_was_edited_is_refused() {
    let built = shared();
    let (_base, tree) = copy(&built);
    for (file, from, to) in [
        ("runtime.identity", r#""env":[]"#, r#""env":[["LD_PRELOAD","/tmp/x"]]"#),
        ("runtime.identity", "usr/bin/python3", "usr/bin/../bin/python3"),
        ("runtime.identity", r#""format":1"#, r#""format":2"#),
        ("runtime.identity", r#""digest":"sha256:"#, r#""digest":"sha256:0"#),
        ("runtime.identity", "{", "["),
    ] {
        let path = tree.join(file);
        let kept = fs::read_to_string(&path).expect("read");
        assert!(kept.contains(from), "{from}");
        fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("chmod");
        fs::write(&path, kept.replacen(from, to, 1)).expect("write");
        let error = Runtime::open(&tree, Verify::Identity).expect_err(to);
        assert!(matches!(error, RuntimeError::Lock { .. }), "{to}: {error}");
        assert!(error.to_string().contains("\nhint: "));
        fs::write(&path, kept).expect("write");
        Runtime::open(&tree, Verify::Identity).expect("control: put back");
    }
}

#[test]
fn a_tree_that_others_can_write_to_is_refused() {
    let built = shared();
    let (_base, tree) = copy(&built);
    let places = [tree.clone(), tree.join("usr"), tree.join("runtime.identity"), interpreter(&tree)];
    for place in places {
        let kept = place.metadata().expect("stat").permissions();
        for bits in [0o020, 0o002] {
            fs::set_permissions(&place, Permissions::from_mode(kept.mode() | bits)).expect("chmod");
            let error = Runtime::open(&tree, Verify::Identity).expect_err("writable");
            assert!(matches!(error, RuntimeError::Refused { .. }), "{}: {error}", place.display());
            let output = run(skilljail().args(["runtime", "show", "--runtime"]).arg(&tree));
            assert_eq!(output.status.code(), Some(3));
        }
        fs::set_permissions(&place, kept).expect("chmod");
        Runtime::open(&tree, Verify::Identity).expect("control: put back");
    }
}

#[test]
fn a_tree_of_somebody_else_is_refused() {
    let built = shared();
    let (_base, tree) = copy(&built);
    for place in [tree.clone(), tree.join("usr"), tree.join("runtime.identity"), interpreter(&tree)] {
        if let Err(error) = chown(&place, Some(12_345), None) {
            eprintln!(
                "SKIP: only root can give a file away ({error}); the rule itself is tested as a function"
            );
            return;
        }
        let error = Runtime::open(&tree, Verify::Identity).expect_err("somebody else's");
        assert!(matches!(error, RuntimeError::Refused { .. }), "{}: {error}", place.display());
        chown(&place, Some(0), None).expect("chown");
        Runtime::open(&tree, Verify::Identity).expect("control: put back");
    }
}

#[test]
fn a_link_in_the_tree_is_not_followed() {
    let built = shared();
    let (base, tree) = copy(&built);
    let away = base.path().join("away");
    fs::rename(interpreter(&tree), &away).expect("rename");
    let name = names(&built.tree.join("usr/bin")).remove(0);
    symlink(&away, tree.join("usr/bin").join(name)).expect("link");
    assert!(Runtime::open(&tree, Verify::Identity).is_err());
}

#[test]
fn a_set_that_is_not_there_is_told_with_the_command() {
    let built = shared();
    let runtime = Runtime::open(&built.tree, Verify::Identity).expect("open");
    let error = runtime.needs("data").expect_err("a plain runtime").to_string();
    let out = format!("{}-data", built.tree.display());
    assert!(error.contains("numpy"), "{error}");
    assert!(
        error.ends_with(&format!(
            "\nhint: skilljail runtime build --requirements data --out {out}, then run with --runtime {out}"
        )),
        "{error}"
    );
    assert!(runtime.needs("nosuch").is_err());
}

#[test]
fn home_is_not_read_from_the_environment() {
    let built = shared();
    let home = scratch();
    fs::create_dir_all(home.path().join(".local/share/skilljail")).expect("mkdir");
    symlink(&built.tree, home.path().join(".local/share/skilljail/runtime")).expect("link");
    let output = run(skilljail().args(["runtime", "show"]).env("HOME", home.path()));
    assert!(!text(&output.stdout).contains(home.path().to_str().expect("UTF-8")));
    if output.status.code() != Some(0) {
        assert!(text(&output.stderr).contains("\nhint: skilljail runtime build"));
    }
}
