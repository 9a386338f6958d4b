//! Builds the tree: from an interpreter of the host, once, whole or not at all.

mod bytecode;
mod child;
mod contents;
mod elf;
mod interpreter;
mod libraries;
mod packages;
mod seal;
mod tree;

pub use packages::Requirements;

use super::RuntimeError;
use super::lock::{Head, Lock, Source};
use child::Interrupts;
use interpreter::Interpreter;
use libraries::{Root, SearchPath};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use tree::{Tree, files_below};

/// What the caller asked for.
#[derive(Debug)]
pub struct Order<'a> {
    /// The interpreter; else the first fit `python3` on `search`.
    pub python: Option<&'a Path>,
    /// The value of `PATH`.
    pub search: &'a OsStr,
    /// Site packages; none: the plain runtime, which needs no pip.
    pub requirements: Option<&'a Requirements>,
    /// Where the tree goes.
    pub out: &'a Path,
}

/// Makes this process one that can build, whatever its caller handed on: an umask under which others can read and nobody
/// can write, and a SIGCHLD that is not ignored.
///
/// # Errors
/// The kernel's, of a disposition that it does not take.
pub fn settle_process() -> Result<(), RuntimeError> {
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o022));
    crate::sys::signal::prepare_supervisor().map_err(RuntimeError::io("reset", "SIGCHLD"))
}

/// Builds a runtime, and tells `say` each step as it begins.
///
/// # Errors
/// Any [`RuntimeError`] of the building kind; nothing is left then, not even after a signal. (After SIGKILL a hidden
/// sibling of `out` stays until the next build of the same name sweeps it.)
pub fn build(order: &Order<'_>, say: &mut dyn FnMut(&str)) -> Result<Lock, RuntimeError> {
    let interrupts = Interrupts::hold()?;
    tree::free(order.out)?;
    let python = Interpreter::choose(order.python, order.search, &interrupts)?;
    let tree = Tree::begin(order.out)?;
    say(&format!("Python {} from {}", python.version, python.executable.display()));
    let mut made = Making { tree, python, interrupts, notes: Vec::new() };
    let lock = made.lay(order, say)?;
    made.interrupts.check()?;
    made.tree.finish(order.out)?;
    Ok(lock)
}

/// A build at work.
struct Making {
    tree: Tree,
    python: Interpreter,
    interrupts: Interrupts,
    notes: Vec<String>,
}

impl Making {
    fn lay(&mut self, order: &Order<'_>, say: &mut dyn FnMut(&str)) -> Result<Lock, RuntimeError> {
        let name = self.python.name();
        let stdlib = format!("usr/{}/{name}", self.python.platlibdir);
        let interpreter = format!("usr/bin/{name}");
        say("standard library, certificates, time zones");
        contents::lay_stdlib(&self.tree, &self.python, &stdlib)?;
        self.tree.copy(&self.python.executable, &interpreter)?;
        let env = contents::lay_authorities(&self.tree, &self.python, &mut self.notes)?;
        contents::lay_time_zones(&self.tree, &mut self.notes)?;
        contents::lay_locale(&self.tree, &mut self.notes)?;
        let mut installed = Vec::new();
        if let Some(requirements) = order.requirements {
            say(&format!("packages of {} (pip)", requirements.name));
            let target = format!("{stdlib}/site-packages");
            let notes = &mut self.notes;
            installed =
                packages::install(&self.tree, &self.python, &target, requirements, &self.interrupts, notes)?;
        }
        say("shared libraries");
        let loader = self.lay_libraries(&stdlib)?;
        say("bytecode");
        for module in bytecode::compile(&self.tree, &self.python, &stdlib, &self.interrupts)? {
            self.notes.push(format!("{module} has no bytecode: it is no module of this Python"));
        }
        say("checksums");
        self.tree.settle(&[&interpreter, &loader])?;
        let head = Head {
            python: self.python.version.clone(),
            multiarch: self.python.multiarch.clone(),
            interpreter,
            loader,
            stdlib,
            env,
            sets: order.requirements.iter().filter(|set| set.shipped).map(|set| set.name.clone()).collect(),
            packages: installed,
        };
        seal::seal(&self.tree, head, self.source()?, std::mem::take(&mut self.notes))
    }

    fn source(&self) -> Result<Source, RuntimeError> {
        let path = &self.python.executable;
        let bytes = std::fs::read(path).map_err(RuntimeError::io("read", path))?;
        Ok(Source { path: path.to_string_lossy().into_owned(), sha256: seal::sha256(&bytes) })
    }

    /// Lays the loader and every library; returns the loader's place.
    fn lay_libraries(&mut self, stdlib: &str) -> Result<String, RuntimeError> {
        let executable = self.python.executable.clone();
        let object = elf::read(&executable)?;
        let Some(loader) = object.loader.clone() else {
            return Err(RuntimeError::Elf {
                path: executable,
                why: "it names no loader (a static build?)".to_owned(),
            });
        };
        let place = in_usr(&loader).ok_or_else(|| RuntimeError::Elf {
            path: executable.clone(),
            why: format!("its loader {} is not below /lib, /lib64 or /usr", loader.display()),
        })?;
        let search = SearchPath::of_host(&self.python.multiarch);
        let found = libraries::resolve(&executable, &self.objects(stdlib)?, self.tree.root(), &search)?;
        for (path, library) in &found.left_out {
            std::fs::remove_file(path).map_err(RuntimeError::io("remove", path))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            self.notes.push(format!("{name} was left out: {library} is not on the building host"));
        }
        let directory = library_directory(found.copied.get("libc.so.6"));
        for (name, path) in &found.copied {
            let name = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
            self.tree.copy(path, format!("{directory}/{name}"))?;
        }
        self.tree.copy(&loader, &place)?;
        Ok(place)
    }

    /// The ELF objects in the tree: extension modules, and the libraries that wheels bring.
    fn objects(&self, stdlib: &str) -> Result<Vec<Root>, RuntimeError> {
        let base = self.tree.at(stdlib);
        let packages = base.join("site-packages");
        let mut roots = Vec::new();
        for path in files_below(&base)? {
            let named = path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"));
            if named && path.is_file() {
                let bytes = std::fs::read(&path).map_err(RuntimeError::io("read", &path))?;
                if elf::is_elf(&bytes) {
                    roots.push(Root { optional: !path.starts_with(&packages), path });
                }
            }
        }
        Ok(roots)
    }
}

/// The place below `usr` of a path that the loader or the kernel uses: `/lib` and `/lib64` are links into it.
fn in_usr(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let inside = text.strip_prefix("/usr/").or_else(|| {
        ["/lib/", "/lib64/"]
            .iter()
            .any(|prefix| text.starts_with(prefix))
            .then(|| text.trim_start_matches('/'))
    })?;
    (!inside.contains("..")).then(|| format!("usr/{inside}"))
}

/// Where libraries go: where the host has its libc, because that is a directory in which its loader looks by itself.
fn library_directory(libc: Option<&PathBuf>) -> String {
    libc.and_then(|path| in_usr(path.parent()?)).unwrap_or_else(|| "usr/lib".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{in_usr, library_directory};
    use std::path::{Path, PathBuf};

    #[test]
    fn places_below_usr() {
        for (path, place) in [
            ("/lib64/ld-linux-x86-64.so.2", Some("usr/lib64/ld-linux-x86-64.so.2")),
            ("/lib/ld-linux-aarch64.so.1", Some("usr/lib/ld-linux-aarch64.so.1")),
            ("/usr/lib/x/ld.so", Some("usr/lib/x/ld.so")),
            ("/nix/store/x/ld.so", None),
            ("/lib/../etc/x", None),
            ("ld.so", None),
        ] {
            assert_eq!(in_usr(Path::new(path)).as_deref(), place, "{path}");
        }
        let libc = PathBuf::from("/usr/lib/x86_64-linux-gnu/libc.so.6");
        assert_eq!(library_directory(Some(&libc)), "usr/lib/x86_64-linux-gnu");
        assert_eq!(library_directory(None), "usr/lib");
    }
}
