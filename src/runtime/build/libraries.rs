//! Which shared libraries the tree needs, found the way the loader finds them, without running it (ld.so(8)).

use super::super::RuntimeError;
use super::elf::{self, Object};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Loaded by name while running, so no ELF header names them: the unwinder that glibc opens when a thread ends, and
/// the resolver's modules, which are part of libc from glibc 2.34 on.
const OPENED_BY_NAME: [&str; 4] = ["libgcc_s.so.1", "libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"];

/// The directories that the host's loader looks in.
#[derive(Debug, Clone)]
pub(super) struct SearchPath(Vec<PathBuf>);

impl SearchPath {
    /// Those of `/etc/ld.so.conf`, then the built-in ones.
    pub(super) fn of_host(multiarch: &str) -> Self {
        let mut directories = Vec::new();
        configured(Path::new("/etc/ld.so.conf"), &mut directories, 0);
        for base in ["/lib", "/usr/lib"] {
            if !multiarch.is_empty() {
                directories.push(Path::new(base).join(multiarch));
            }
        }
        directories.extend(["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(PathBuf::from));
        Self(directories)
    }
}

/// ld.so.conf's language: one directory a line, comments, `include PATTERN`.
fn configured(file: &Path, into: &mut Vec<PathBuf>, depth: u8) {
    let Ok(text) = std::fs::read_to_string(file) else { return };
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(pattern) = line.strip_prefix("include ") {
            if depth < 4 {
                for included in matching(Path::new(pattern.trim())) {
                    configured(&included, into, depth + 1);
                }
            }
        } else if line.starts_with('/') {
            into.push(PathBuf::from(line));
        }
    }
}

/// The files that a pattern with at most one `*`, in its last part, names.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let (Some(directory), Some(name)) =
        (pattern.parent(), pattern.file_name().and_then(|name| name.to_str()))
    else {
        return Vec::new();
    };
    let Some((before, after)) = name.split_once('*') else { return vec![pattern.to_path_buf()] };
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(before) && name.ends_with(after) && name.len() >= before.len() + after.len()
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// An object whose needs are to be met.
pub(super) struct Root {
    /// Where it lies now: `$ORIGIN` is its directory.
    pub(super) path: PathBuf,
    /// Whether the tree can do without it.
    pub(super) optional: bool,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Libraries {
    /// By the name under which the loader asks for it: the host's file.
    pub(super) copied: BTreeMap<String, PathBuf>,
    /// The optional roots that cannot be loaded, each with the library that it lacks.
    pub(super) left_out: Vec<(PathBuf, String)>,
}

/// Finds everything that the executable and the roots need, libraries of libraries included. What lies below `inside`
/// already (a wheel's own libraries) stays where it is.
pub(super) fn resolve(
    executable: &Path,
    roots: &[Root],
    inside: &Path,
    search: &SearchPath,
) -> Result<Libraries, RuntimeError> {
    let main = elf::read(executable)?;
    let bundled: BTreeSet<String> = roots
        .iter()
        .filter(|root| root.path.starts_with(inside))
        .filter_map(|root| root.path.file_name().map(|name| name.to_string_lossy().into_owned()))
        .collect();
    let mut resolver = Resolver { main: &main, main_path: executable, bundled, inside, search };
    let mut found = Libraries::default();
    resolver.close(executable, &mut found.copied)?;
    for name in OPENED_BY_NAME {
        if let Some(path) = resolver.by_default(name) {
            resolver.close(&path, &mut found.copied)?;
            found.copied.entry(name.to_owned()).or_insert(path);
        }
    }
    for root in roots {
        // Taken over only when all of its needs are met: a module that is left out brings no libraries.
        let mut more = found.copied.clone();
        match resolver.close(&root.path, &mut more) {
            Ok(()) => found.copied = more,
            Err(RuntimeError::MissingLibrary { library, .. }) if root.optional => {
                found.left_out.push((root.path.clone(), library));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

struct Resolver<'a> {
    main: &'a Object,
    main_path: &'a Path,
    bundled: BTreeSet<String>,
    inside: &'a Path,
    search: &'a SearchPath,
}

impl Resolver<'_> {
    /// Adds what `root` needs.
    fn close(&mut self, root: &Path, copied: &mut BTreeMap<String, PathBuf>) -> Result<(), RuntimeError> {
        let mut queue = vec![root.to_path_buf()];
        while let Some(path) = queue.pop() {
            let object = elf::read(&path)?;
            for name in &object.needed {
                if copied.contains_key(name) || self.is_loader(name) {
                    continue;
                }
                match self.find(name, &path, &object) {
                    // Its own needs are met when its turn as a root comes.
                    Some(found) if found.starts_with(self.inside) => {}
                    Some(found) => {
                        queue.push(found.clone());
                        copied.insert(name.clone(), found);
                    }
                    // Another module of the same wheel loads it first, under this name.
                    None if self.bundled.contains(name) => {}
                    None => return Err(missing(name, &path)),
                }
            }
        }
        Ok(())
    }

    /// The loader is laid by itself, where `PT_INTERP` says; it is loaded already when it is asked for by name.
    fn is_loader(&self, name: &str) -> bool {
        self.main.loader.as_deref().and_then(Path::file_name).is_some_and(|loader| loader == name)
    }

    fn find(&self, name: &str, path: &Path, object: &Object) -> Option<PathBuf> {
        if name.contains('/') {
            return Some(PathBuf::from(name)).filter(|path| path.is_file());
        }
        let mut directories = Vec::new();
        if object.runpath.is_none() {
            directories.extend(expanded(&object.rpath, path));
            if self.main.runpath.is_none() {
                directories.extend(expanded(&self.main.rpath, self.main_path));
            }
        }
        directories.extend(expanded(object.runpath.as_deref().unwrap_or_default(), path));
        directories
            .iter()
            .find_map(|directory| self.fits(&directory.join(name)))
            .or_else(|| self.by_default(name))
    }

    fn by_default(&self, name: &str) -> Option<PathBuf> {
        self.search.0.iter().find_map(|directory| self.fits(&directory.join(name)))
    }

    /// The real file, if it is an object of the interpreter's machine.
    fn fits(&self, candidate: &Path) -> Option<PathBuf> {
        let real = candidate.canonicalize().ok()?;
        let object = elf::read(&real).ok()?;
        (object.kind == self.main.kind).then_some(real)
    }
}

/// `$ORIGIN` is the directory of the object; other tokens are not used by what we take.
fn expanded(list: &[String], path: &Path) -> Vec<PathBuf> {
    let origin = path.parent().unwrap_or(path).to_string_lossy();
    list.iter()
        .map(|entry| PathBuf::from(entry.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin)))
        .collect()
}

fn missing(library: &str, needed_by: &Path) -> RuntimeError {
    let package = match library {
        "libstdc++.so.6" => "apt-get install libstdc++6".to_owned(),
        "libgcc_s.so.1" => "apt-get install libgcc-s1".to_owned(),
        "libgomp.so.1" => "apt-get install libgomp1".to_owned(),
        "libz.so.1" => "apt-get install zlib1g".to_owned(),
        other => format!("install the package that has {other} (Debian: `apt-file search {other}` names it)"),
    };
    RuntimeError::MissingLibrary {
        library: library.to_owned(),
        needed_by: needed_by.to_path_buf(),
        hint: package,
    }
}
