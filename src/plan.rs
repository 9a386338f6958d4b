//! The plan: policy, skill, runtime and host, resolved into what each layer will do. Pure data, made without a system
//! call, a clock, an environment or a file; what `policy show` prints is this very value.

use crate::layer::landlock::{Grant, Rule};
pub use crate::layer::mounts::Content;
use crate::layer::mounts::{Flag, Op, Source};
use crate::layer::{fds, idmap, landlock, mounts, net, privs, rlimits, seccomp};
use crate::payload::{self, Variable};
use crate::policy::{Limits, Policy, schema};
use serde::Serialize;
use std::path::PathBuf;

/// What cannot be planned. The caller's words or the host are at fault, as each says.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    /// The kernel's Landlock is older than the policy's floor.
    #[error(
        "landlock: this kernel has ABI {kernel}, the policy {policy:?} requires {required}\nhint: `skilljail doctor` says what is missing; a policy with a lower require_abi is a weaker one"
    )]
    Landlock {
        /// What there is; 0: none.
        kernel: u32,
        /// What the policy wants.
        required: u32,
        /// The policy's name.
        policy: String,
    },
    /// Two things want the same path.
    #[error("{path} is the jail's own place: {what} cannot have it\nhint: rename it")]
    Collision {
        /// The path.
        path: String,
        /// What wanted it.
        what: String,
    },
    /// A bind below another bind.
    #[error(
        "--ro-bind {path}: it lies below {other}, which is bound already\nhint: bind the outer one alone, it brings what is in it"
    )]
    Nested {
        /// The inner.
        path: String,
        /// The outer.
        other: String,
    },
    /// Not a path inside the jail.
    #[error("{path:?} is not an absolute path without `.`, `..`, `//` and control characters")]
    Path {
        /// What was given.
        path: String,
    },
}

/// What the plan needs to know of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostFacts {
    /// The effective uid of the caller.
    pub euid: u32,
    /// The kernel's Landlock ABI; 0 where there is none.
    pub landlock_abi: u32,
    /// A cgroup was handed over, so that memory and processes are counted there.
    pub cgroup: bool,
}

/// What the plan needs to know of the pinned Python.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Python {
    /// The tree's `usr` on the host.
    pub usr: PathBuf,
    /// The interpreter inside the jail.
    pub interpreter: String,
    /// Its ELF loader inside the jail, below `/usr`.
    pub loader: String,
    /// What stands before the script on the command line.
    pub argv_prefix: Vec<String>,
    /// What the tree needs in the environment.
    pub environment: Vec<(String, String)>,
    /// The tree's digest.
    pub digest: String,
}

/// A file that comes into the jail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileFact {
    /// Its path below its place.
    pub path: String,
    /// Its size.
    pub bytes: u64,
}

/// A host path bound read-only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoBind {
    /// On the host.
    pub source: PathBuf,
    /// In the jail.
    pub path: String,
    /// Whether it is a directory; the kernel refuses a directory's rights on anything else.
    pub directory: bool,
}

/// What runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// A skill's script.
    Script {
        /// The interpreter.
        python: Python,
        /// The skill's verified files.
        files: Vec<FileFact>,
        /// The script, below the skill.
        script: String,
        /// The ids that the caller handed over: name and value.
        ids: Vec<(String, String)>,
    },
    /// Any program.
    Exec {
        /// Path inside the jail.
        program: String,
        /// Its ELF loader inside the jail; none for a static one.
        loader: Option<String>,
        /// The arguments after the program.
        args: Vec<String>,
        /// What is bound.
        binds: Vec<RoBind>,
    },
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The policy's name.
    pub policy: String,
    /// Its digest.
    pub policy_digest: String,
    /// Whether the caller's words changed what the policy says (`exec` binds).
    pub policy_modified: bool,
    /// Descriptors.
    pub fds: fds::Plan,
    /// Ids.
    pub idmap: idmap::Plan,
    /// The root.
    pub mounts: mounts::Plan,
    /// Network and host name.
    pub net: net::Plan,
    /// Resource limits.
    pub rlimits: rlimits::Plan,
    /// Privileges.
    pub privs: privs::Plan,
    /// Landlock.
    pub landlock: landlock::Plan,
    /// The filter.
    pub seccomp: seccomp::Plan,
    /// What is executed.
    pub payload: payload::Plan,
    /// What the supervisor holds the run to.
    pub limits: Limits,
    /// Whether a cgroup is a must.
    pub cgroup: schema::Cgroup,
}

/// What else comes in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The certificates that the script finds, where it may connect; by their path on the host.
    pub ca_bundle: Option<FileFact>,
    /// The files of `--in`.
    pub files: Vec<FileFact>,
}

const PRIVATE: [Flag; 3] = [Flag::Nosuid, Flag::Nodev, Flag::Noexec];

impl Plan {
    /// Resolves everything.
    pub fn build(
        policy: &Policy,
        program: &Program,
        inputs: &Inputs,
        host: &HostFacts,
    ) -> Result<Self, PlanError> {
        let file = policy.file();
        let limits = policy.limits();
        let landlock =
            landlock::plan(&file.landlock, host.landlock_abi, rules(policy, program), file.network.mode)
                .ok_or_else(|| PlanError::Landlock {
                    kernel: host.landlock_abi,
                    required: file.landlock.require_abi,
                    policy: policy.name().to_owned(),
                })?;
        Ok(Self {
            policy: policy.name().to_owned(),
            policy_digest: policy.digest().to_owned(),
            policy_modified: matches!(program, Program::Exec { binds, .. } if !binds.is_empty()),
            fds: fds::plan(),
            idmap: idmap::plan(host.euid, &file.outer_ids),
            mounts: mounts(policy, program, inputs)?,
            net: net::plan(&file.network, policy.egress()),
            rlimits: rlimits::plan(limits, !host.cgroup),
            privs: privs::plan(),
            landlock,
            seccomp: seccomp::plan(&file.filter, policy.filter()),
            payload: payload(policy, program, inputs.ca_bundle.is_some()),
            limits: limits.clone(),
            cgroup: file.cgroup.clone(),
        })
    }
}

fn rules(policy: &Policy, program: &Program) -> Vec<Rule> {
    let rule =
        |path: &str, grant, reason: &str| Rule { path: path.to_owned(), grant, reason: reason.to_owned() };
    let mut rules = vec![
        rule("/", Grant::List, "everything in the jail may be seen; what may be read is said below"),
        rule("/workdir", Grant::Work, "the script's own files"),
        rule("/tmp", Grant::Work, "temporary files: the same place as /workdir/tmp"),
        rule("/etc", Grant::Read, "the made files of user and host names"),
    ];
    for device in &policy.file().devices {
        rules.push(rule(&format!("/dev/{}", device_name(device.name)), Grant::ReadWriteFile, &device.reason));
    }
    if policy.limits().shm_bytes.value > 0 {
        rules.push(rule("/dev/shm", Grant::Work, &policy.limits().shm_bytes.reason));
    }
    match program {
        Program::Script { python, .. } => {
            rules.push(rule("/skill", Grant::Read, "the skill's files"));
            rules.push(rule("/skill/out", Grant::Work, "artifacts: the same place as /workdir/out"));
            rules.push(rule("/usr", Grant::Read, "the pinned Python"));
            rules.push(rule(&python.interpreter, Grant::Execute, "the one program that is executed"));
            rules.push(rule(&python.loader, Grant::Execute, "its ELF loader"));
        }
        Program::Exec { program, loader, binds, .. } => {
            for bind in binds {
                let grant = if bind.directory { Grant::Read } else { Grant::ReadFile };
                rules.push(rule(&bind.path, grant, "bound by the caller"));
            }
            rules.push(rule(program, Grant::Execute, "the one program that is executed"));
            if let Some(loader) = loader {
                rules.push(rule(loader, Grant::Execute, "its ELF loader"));
            }
        }
    }
    rules
}

fn device_name(name: schema::DeviceName) -> &'static str {
    match name {
        schema::DeviceName::Null => "null",
        schema::DeviceName::Zero => "zero",
        schema::DeviceName::Full => "full",
        schema::DeviceName::Random => "random",
        schema::DeviceName::Urandom => "urandom",
    }
}

fn dir(path: &str, mode: u32) -> Op {
    Op::Dir { path: path.to_owned(), mode }
}

fn mounts(policy: &Policy, program: &Program, inputs: &Inputs) -> Result<mounts::Plan, PlanError> {
    let mut ops = Vec::new();
    let mut content_bytes = 0;
    let mut put = |ops: &mut Vec<Op>, path: String, content: Content, bytes: u64| {
        // tmpfs counts whole pages.
        content_bytes += bytes.div_ceil(4096) * 4096;
        ops.push(Op::File { path, content, mode: 0o444 });
    };
    etc(&mut ops);
    if let Some(egress) = policy.egress() {
        ops.push(Op::File {
            path: "/etc/resolv.conf".to_owned(),
            content: Content::Text(resolv_conf(egress)),
            mode: 0o444,
        });
    }
    if let Some(bundle) = &inputs.ca_bundle {
        ops.extend([dir("/etc/ssl", 0o555), dir("/etc/ssl/certs", 0o555)]);
        put(&mut ops, CA_BUNDLE.to_owned(), Content::CaBundle(bundle.path.clone()), bundle.bytes);
    }
    devices(&mut ops, policy);
    let binds = match program {
        Program::Script { python, files, .. } => {
            ops.push(dir("/skill", 0o555));
            ops.push(dir("/skill/out", 0o755));
            for file in files {
                if file.path == "out" || file.path.starts_with("out/") {
                    let what = format!("the skill's {:?}", file.path);
                    return Err(PlanError::Collision { path: "/skill/out".to_owned(), what });
                }
                parents(&mut ops, "/skill", &file.path);
                put(&mut ops, format!("/skill/{}", file.path), Content::Skill(file.path.clone()), file.bytes);
            }
            for link in ["lib", "lib64"] {
                ops.push(Op::Symlink { path: format!("/{link}"), target: format!("usr/{link}") });
            }
            vec![RoBind { source: python.usr.clone(), path: "/usr".to_owned(), directory: true }]
        }
        Program::Exec { binds, .. } => {
            check_binds(binds)?;
            binds.clone()
        }
    };
    for bind in &binds {
        parents(&mut ops, "", bind.path.trim_start_matches('/'));
        let (source, reason) = match program {
            Program::Script { .. } => (Source::Runtime(bind.source.clone()), "the pinned Python"),
            Program::Exec { .. } => (Source::Host(bind.source.clone()), "bound by the caller"),
        };
        ops.push(Op::Bind {
            source,
            path: bind.path.clone(),
            flags: vec![Flag::Ro, Flag::Nosuid, Flag::Nodev],
            reason: reason.to_owned(),
        });
    }
    ops.extend([dir("/workdir", 0o755), dir("/workdir/in", 0o555), dir("/tmp", 0o700)]);
    for file in &inputs.files {
        let path = format!("/workdir/in/{}", file.path);
        put(&mut ops, path, Content::Input(file.path.clone()), file.bytes);
    }
    workdir(&mut ops, policy, matches!(program, Program::Script { .. }));
    let root_inodes = ops.len() as u64 + 64;
    Ok(mounts::Plan { root_bytes: content_bytes + (1 << 20), root_inodes, ops })
}

fn workdir(ops: &mut Vec<Op>, policy: &Policy, skill: bool) {
    let limits = policy.limits();
    ops.push(Op::Hold { path: "/workdir/in".to_owned() });
    ops.push(Op::Tmpfs {
        path: "/workdir".to_owned(),
        bytes: limits.workdir_bytes.value,
        inodes: limits.workdir_inodes.value,
        flags: PRIVATE.to_vec(),
        reason: limits.workdir_bytes.reason.clone(),
    });
    ops.extend([dir("/workdir/in", 0o555), dir("/workdir/out", 0o700), dir("/workdir/tmp", 0o700)]);
    ops.push(Op::Place { path: "/workdir/in".to_owned(), reason: "the files of --in, read-only".to_owned() });
    let mut alias = |from: &str, path: &str, reason: &str| {
        ops.push(Op::Alias { from: from.to_owned(), path: path.to_owned(), reason: reason.to_owned() });
    };
    alias("/workdir/tmp", "/tmp", "temporary files count as the workdir's");
    if skill {
        alias("/workdir/out", "/skill/out", "skills that write artifacts beside their own files");
    }
}

fn etc(ops: &mut Vec<Op>) {
    let mut made = |name: &str, text: &str| {
        ops.push(Op::File {
            path: format!("/etc/{name}"),
            content: Content::Text(text.to_owned()),
            mode: 0o444,
        });
    };
    made("passwd", "skilljail:x:1000:1000::/workdir:/nonexistent\n");
    made("group", "skilljail:x:1000:\n");
    made("hosts", "127.0.0.1 localhost skilljail\n::1 localhost skilljail\n");
    made("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
    ops.insert(0, dir("/etc", 0o555));
}

/// Where the certificates are inside: Debian's place, which most programs know.
pub const CA_BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";

/// One question at a time: two at once go by sendmmsg, which the filter does not let through. The stub gives up before the
/// C library does, so that a lookup fails for one reason only.
fn resolv_conf(egress: &crate::policy::Egress) -> String {
    let timeout = egress.dns_timeout_ms.value.div_ceil(1_000) + 1;
    format!("nameserver {}\noptions single-request attempts:1 timeout:{}\n", net::STUB, timeout.min(30))
}

fn devices(ops: &mut Vec<Op>, policy: &Policy) {
    ops.push(dir("/dev", 0o555));
    for device in &policy.file().devices {
        ops.push(Op::Bind {
            source: Source::Device(device.name),
            path: format!("/dev/{}", device_name(device.name)),
            // Read-only: writing to the device still works, its host inode's times and modes do not change.
            flags: vec![Flag::Ro, Flag::Nosuid, Flag::Noexec],
            reason: device.reason.clone(),
        });
    }
    let shm = &policy.limits().shm_bytes;
    // A tmpfs of size 0 would be one without a bound.
    if shm.value > 0 {
        ops.push(dir("/dev/shm", 0o700));
        ops.push(Op::Tmpfs {
            path: "/dev/shm".to_owned(),
            bytes: shm.value,
            inodes: 256,
            flags: PRIVATE.to_vec(),
            reason: shm.reason.clone(),
        });
    }
}

/// Makes the directories above `path` below `base`, each once.
fn parents(ops: &mut Vec<Op>, base: &str, path: &str) {
    let mut above = String::from(base);
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return;
        }
        above.push('/');
        above.push_str(part);
        let op = dir(&above, 0o555);
        if !ops.contains(&op) {
            ops.push(op);
        }
    }
}

/// The paths of the jail itself, which no bind may cover or lie below.
const OWN: &[&str] = &["/workdir", "/tmp", "/dev", "/etc", "/skill", "/proc", "/sys"];

/// Whether a path can be one inside the jail.
pub fn is_plain(path: &str) -> bool {
    path.strip_prefix('/').is_some_and(|rest| {
        !rest.is_empty()
            && rest.split('/').all(|part| !matches!(part, "" | "." | ".."))
            && !rest.chars().any(char::is_control)
    })
}

fn below(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

// A bind below another would be attached at a path that the outer one's symbolic links decide, so there is none.
fn check_binds(binds: &[RoBind]) -> Result<(), PlanError> {
    for (index, bind) in binds.iter().enumerate() {
        let path = &bind.path;
        if !is_plain(path) {
            return Err(PlanError::Path { path: path.clone() });
        }
        if OWN.iter().any(|own| below(path, own) || below(own, path)) {
            return Err(PlanError::Collision { path: path.clone(), what: "--ro-bind".to_owned() });
        }
        for (other_index, other) in binds.iter().enumerate() {
            if index != other_index && below(path, &other.path) {
                return Err(PlanError::Nested { path: path.clone(), other: other.path.clone() });
            }
        }
    }
    Ok(())
}

fn payload(policy: &Policy, program: &Program, certificates: bool) -> payload::Plan {
    let variable = |name: &str, value: &str, reason: &str| Variable {
        name: name.to_owned(),
        value: value.to_owned(),
        reason: reason.to_owned(),
    };
    let mut environment = vec![
        variable("HOME", "/workdir", "the only place that can be written"),
        variable("TMPDIR", "/tmp", "temporary files"),
    ];
    for own in &policy.file().environment {
        environment.push(variable(&own.name, &own.value, &own.reason));
    }
    if certificates {
        for name in ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"] {
            environment.push(variable(name, CA_BUNDLE, "where the certificates are"));
        }
    }
    let threads = &policy.limits().compute_threads;
    for name in ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"] {
        environment.push(variable(name, &threads.value.to_string(), &threads.reason));
    }
    let (program, argv) = match program {
        Program::Script { python, script, ids, .. } => {
            for (name, value) in &python.environment {
                environment.push(variable(name, value, "the pinned Python needs it"));
            }
            environment.push(variable("TFROBOT_SKILL_DIR", "/skill", "where the skill's files are"));
            for (name, value) in ids {
                environment.push(variable(name, value, "handed over by the caller"));
            }
            let mut argv = python.argv_prefix.clone();
            argv.push(format!("/skill/{script}"));
            (python.interpreter.clone(), argv)
        }
        Program::Exec { program, args, .. } => {
            let argv = std::iter::once(program).chain(args).cloned().collect();
            (program.clone(), argv)
        }
    };
    payload::Plan { program, argv, environment, cwd: "/workdir".to_owned() }
}
