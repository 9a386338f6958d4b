//! What the review knows about modules and calls. Names are dotted paths as Python's imports spell them.

/// Modules that start processes, call native code, or reach into other processes.
const FORBIDDEN: [&str; 27] = [
    "subprocess",
    "_posixsubprocess",
    "multiprocessing",
    "_multiprocessing",
    "concurrent.futures.process",
    "pty",
    "pexpect",
    "ptyprocess",
    "sh",
    "plumbum",
    "fabric",
    "invoke",
    "ctypes",
    "_ctypes",
    "cffi",
    "_cffi_backend",
    "pybind11",
    "posix",
    "webbrowser",
    "antigravity",
    "pdb",
    "pip",
    "ensurepip",
    "venv",
    "psutil",
    "joblib",
    "ptrace",
];

/// Modules that open connections, the three that egress allows aside.
const NETWORK: [&str; 41] = [
    "http.server",
    "http.cookiejar",
    "urllib.request",
    "urllib.robotparser",
    "urllib3",
    "requests",
    "httpx",
    "httpcore",
    "aiohttp",
    "aiodns",
    "websocket",
    "websockets",
    "ftplib",
    "smtplib",
    "smtpd",
    "poplib",
    "imaplib",
    "nntplib",
    "telnetlib",
    "xmlrpc",
    "socketserver",
    "wsgiref",
    "asyncore",
    "asynchat",
    "_socket",
    "_ssl",
    "paramiko",
    "asyncssh",
    "pycurl",
    "boto3",
    "botocore",
    "grpc",
    "pika",
    "redis",
    "pymongo",
    "psycopg",
    "psycopg2",
    "pymysql",
    "selenium",
    "playwright",
    "zmq",
];

/// What `network: egress` allows, and nothing else.
const EGRESS: [&str; 4] = ["socket", "ssl", "http.client", "http"];

/// Members of `os` that start, replace, signal or enter processes.
const OS_CALLS: [&str; 34] = [
    "system",
    "popen",
    "fork",
    "forkpty",
    "execl",
    "execle",
    "execlp",
    "execlpe",
    "execv",
    "execve",
    "execvp",
    "execvpe",
    "spawnl",
    "spawnle",
    "spawnlp",
    "spawnlpe",
    "spawnv",
    "spawnve",
    "spawnvp",
    "spawnvpe",
    "posix_spawn",
    "posix_spawnp",
    "kill",
    "killpg",
    "startfile",
    "pidfd_open",
    "setns",
    "unshare",
    "chroot",
    "setuid",
    "setgid",
    "setresuid",
    "mknod",
    "mkfifo",
];

/// Other calls of that kind.
const CALLS: [&str; 9] = [
    "pty.spawn",
    "pty.fork",
    "asyncio.create_subprocess_exec",
    "asyncio.create_subprocess_shell",
    "asyncio.subprocess.create_subprocess_exec",
    "asyncio.subprocess.create_subprocess_shell",
    "concurrent.futures.ProcessPoolExecutor",
    "signal.pidfd_send_signal",
    "signal.pthread_kill",
];

/// Calls that run code which was not there when the script was reviewed.
const EVAL: [&str; 11] = [
    "builtins.eval",
    "builtins.exec",
    "builtins.compile",
    "marshal.loads",
    "marshal.load",
    "runpy.run_path",
    "runpy.run_module",
    "code.InteractiveInterpreter",
    "code.InteractiveConsole",
    "types.FunctionType",
    "types.CodeType",
];

/// Imports by a name, or a file, that is made at run time.
const DYNAMIC: [&str; 6] = [
    "builtins.__import__",
    "importlib.import_module",
    "importlib.__import__",
    "importlib.util.spec_from_file_location",
    "importlib.util.spec_from_loader",
    "imp.load_source",
];

/// Variables that the jail sets.
const ENVIRONMENT: [&str; 16] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "TZ",
    "PYTHONDONTWRITEBYTECODE",
    "TFROBOT_SKILL_DIR",
    "TFROBOT_SESSION_ID",
    "TFROBOT_ROBOT_ID",
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "MALLOC_ARENA_MAX",
    "MPLCONFIGDIR",
];

/// What an import of a module means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Module {
    /// Nothing.
    Plain,
    /// Processes or native code.
    Forbidden,
    /// Connections, also with egress.
    Network,
    /// Connections, allowed with egress.
    Egress,
}

/// Whether `path` is `module` or below it.
fn within(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Judges a dotted path that is imported.
pub(super) fn module(path: &str) -> Module {
    // Two enumerations of constants that happen to live in `http`.
    if matches!(path, "http.HTTPStatus" | "http.HTTPMethod") {
        return Module::Plain;
    }
    if FORBIDDEN.iter().any(|module| within(path, module)) {
        return Module::Forbidden;
    }
    if NETWORK.iter().any(|module| within(path, module)) {
        return Module::Network;
    }
    match EGRESS.iter().any(|module| within(path, module)) {
        true if within(path, "http") && path != "http" && !within(path, "http.client") => Module::Network,
        true => Module::Egress,
        false => Module::Plain,
    }
}

/// What the use of a member means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Starts or signals processes.
    Process,
    /// Makes code, if it is called.
    Eval,
    /// Imports by name, if it is called.
    Dynamic,
}

/// Judges a dotted path that is used.
pub(super) fn usage(path: &str) -> Option<Use> {
    let of_os = path.strip_prefix("os.").or_else(|| path.strip_prefix("posix."));
    if of_os.is_some_and(|name| OS_CALLS.contains(&name)) || CALLS.contains(&path) {
        Some(Use::Process)
    } else if EVAL.contains(&path) {
        Some(Use::Eval)
    } else if DYNAMIC.contains(&path) {
        Some(Use::Dynamic)
    } else {
        None
    }
}

/// Whether the jail itself sets a variable.
pub(super) fn set_by_jail(name: &str) -> bool {
    ENVIRONMENT.contains(&name)
}

/// Calls that change what their first argument (or the one of that number) names.
pub(super) fn writes(path: &str) -> Option<usize> {
    const FIRST: [&str; 18] = [
        "os.mkdir",
        "os.makedirs",
        "os.remove",
        "os.unlink",
        "os.rmdir",
        "os.removedirs",
        "os.truncate",
        "os.chmod",
        "os.chown",
        "os.utime",
        "os.rename",
        "os.replace",
        "shutil.rmtree",
        "shutil.chown",
        "shutil.unpack_archive",
        "sqlite3.connect",
        "pathlib.Path.mkdir",
        "pathlib.Path.touch",
    ];
    const SECOND: [&str; 9] = [
        "os.symlink",
        "os.link",
        "shutil.copy",
        "shutil.copy2",
        "shutil.copyfile",
        "shutil.copytree",
        "shutil.move",
        "shutil.copymode",
        "shutil.copystat",
    ];
    if FIRST.contains(&path) { Some(0) } else { SECOND.contains(&path).then_some(1) }
}

/// Methods of `pathlib.Path` that change what the path names.
pub(super) fn writing_method(name: &str) -> bool {
    matches!(
        name,
        "write_text"
            | "write_bytes"
            | "mkdir"
            | "touch"
            | "unlink"
            | "rmdir"
            | "rename"
            | "replace"
            | "symlink_to"
            | "hardlink_to"
            | "chmod"
    )
}

/// Whether a path that begins with `prefix` lies where the jail can write, or is a harmless device.
pub(super) fn writable(path: &str) -> bool {
    const PLACES: [&str; 7] =
        ["/workdir", "/tmp", "/skill/out", "/dev/shm", "/dev/null", "/dev/zero", "/dev/full"];
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let plain = format!("/{}", parts.join("/"));
    PLACES
        .iter()
        .any(|place| plain == *place || plain.strip_prefix(place).is_some_and(|rest| rest.starts_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules() {
        for (path, expected) in [
            ("json", Module::Plain),
            ("subprocess", Module::Forbidden),
            ("multiprocessing.pool", Module::Forbidden),
            ("concurrent.futures", Module::Plain),
            ("socket", Module::Egress),
            ("ssl.SSLContext", Module::Egress),
            ("http", Module::Egress),
            ("http.client", Module::Egress),
            ("http.server", Module::Network),
            ("http.cookies", Module::Network),
            ("http.HTTPStatus", Module::Plain),
            ("urllib.parse", Module::Plain),
            ("urllib.request", Module::Network),
            ("shlex", Module::Plain),
            ("ssl_helper", Module::Plain),
        ] {
            assert_eq!(module(path), expected, "{path}");
        }
    }

    #[test]
    fn places() {
        for path in ["/workdir", "/workdir/out/x", "/tmp/x", "/skill/out/a", "/dev/null", "/workdir/./a"] {
            assert!(writable(path), "{path}");
        }
        for path in ["/", "/etc/passwd", "/workdirs/x", "/workdir/../etc/x", "/skill/x", "/dev/tty"] {
            assert!(!writable(path), "{path}");
        }
    }
}
