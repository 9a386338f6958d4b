//! Precompiled bytecode: never checked against its source again, since the tree as a whole is what is checked.

use super::super::RuntimeError;
use super::child::{self, Interrupts};
use super::interpreter::Interpreter;
use super::tree::{Tree, files_below};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// How many processes share the work. What a code object looks like depends a little on what its process compiled
/// before, so the number is fixed, whatever the host has: the same sources give the same bytes.
const SHARES: usize = 8;

/// Reads lines `SOURCE<TAB>NAME-IN-THE-JAIL` from the file that is its argument. Sources that are no Python 3 (test data,
/// templates) stay without bytecode.
const COMPILER: &str = r"
import importlib.util, py_compile, sys, warnings
warnings.simplefilter('ignore')
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
for line in open(sys.argv[1], encoding='utf-8'):
    source, name = line.rstrip('\n').split('\t')
    try:
        py_compile.compile(source, dfile=name, doraise=True, optimize=0, invalidation_mode=mode)
    except (py_compile.PyCompileError, UnicodeDecodeError, ValueError, RecursionError):
        print(name)
";

/// Compiles every module below `stdlib`; returns the names that stay without bytecode.
pub(super) fn compile(
    tree: &Tree,
    python: &Interpreter,
    stdlib: &str,
    interrupts: &Interrupts,
) -> Result<Vec<String>, RuntimeError> {
    let mut shares = vec![String::new(); SHARES];
    let sources = files_below(&tree.at(stdlib))?;
    let modules = sources.iter().filter(|path| path.extension().is_some_and(|extension| extension == "py"));
    for (index, path) in modules.enumerate() {
        let name = Path::new("/").join(path.strip_prefix(tree.root()).unwrap_or(path));
        let (Some(path), Some(name)) = (path.to_str(), name.to_str()) else { continue };
        if let Some(share) = shares.get_mut(index % SHARES).filter(|_| !path.contains(['\t', '\n'])) {
            // Writing into a String cannot fail.
            let _ = writeln!(share, "{path}\t{name}");
        }
    }
    let lists = tempfile::tempdir().map_err(RuntimeError::io("make", "a temporary directory"))?;
    let mut commands = Vec::new();
    for (index, share) in shares.iter().enumerate() {
        let list = lists.path().join(index.to_string());
        std::fs::write(&list, share).map_err(RuntimeError::io("write", &list))?;
        let mut command = Command::new(&python.executable);
        // The hash seed orders sets, which end up in code objects; -I would ignore it, so the environment is emptied.
        command.env_clear().env("PYTHONHASHSEED", "0").env("LANG", "C.UTF-8");
        command.args(["-S", "-s", "-P", "-B", "-c", COMPILER]).arg(&list);
        commands.push(command);
    }
    let width = std::thread::available_parallelism().map_or(1, usize::from);
    let mut failed = Vec::new();
    for said in child::run_all(commands, width, interrupts)? {
        let said =
            said.ok("compiling the modules", "the interpreter cannot compile its own library: is it whole?")?;
        failed.extend(said.out.lines().map(str::to_owned));
    }
    failed.sort();
    Ok(failed)
}
