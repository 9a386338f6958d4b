//! The mount namespace: a new root that holds what the plan lists, and nothing of the old one.
//!
//! The plan is a typed list of operations, executed in order. All paths are below the new root; the ones that the
//! jail will see begin with `/`.

#[cfg(feature = "lab")]
use super::without::{Wall, Without};
use super::{ApplyError, Layer, Step as _};
use crate::policy::DeviceName;
use crate::sys::mount::{self, attr};
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{Mode, fstat};
use serde::Serialize;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

/// Where a bind comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The `usr` of the pinned Python's tree.
    Runtime(PathBuf),
    /// A device node of the host.
    Device(DeviceName),
    /// A path that the caller of `exec` named.
    Host(PathBuf),
}

/// The bytes of a made file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Text that is part of the plan.
    Text(String),
    /// A verified file of the skill, by its path in the package.
    Skill(String),
    /// A file of `--in`, by its name.
    Input(String),
    /// The certificates, by their path on the host.
    CaBundle(String),
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "op")]
pub enum Op {
    /// Make a directory.
    Dir {
        /// Where.
        path: String,
        /// Permission bits.
        mode: u32,
    },
    /// Make a file.
    File {
        /// Where.
        path: String,
        /// What is in it.
        content: Content,
        /// Permission bits.
        mode: u32,
    },
    /// Make a symbolic link.
    Symlink {
        /// Where.
        path: String,
        /// What it says.
        target: String,
    },
    /// Bind a tree or a node of the host's.
    Bind {
        /// From where.
        source: Source,
        /// Where.
        path: String,
        /// Flags as mount(8) names them.
        flags: Vec<Flag>,
        /// Why.
        reason: String,
    },
    /// Mount a tmpfs.
    Tmpfs {
        /// Where.
        path: String,
        /// Its size.
        bytes: u64,
        /// Its inodes.
        inodes: u64,
        /// Flags as mount(8) names them.
        flags: Vec<Flag>,
        /// Why.
        reason: String,
    },
    /// Take a read-only view of a directory before something is mounted over it …
    Hold {
        /// The directory.
        path: String,
    },
    /// … and attach it here.
    Place {
        /// Where.
        path: String,
        /// Why.
        reason: String,
    },
    /// A second name for a directory.
    Alias {
        /// The directory.
        from: String,
        /// Its second name.
        path: String,
        /// Why.
        reason: String,
    },
}

/// A mount flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "mount(8) has them")]
pub enum Flag {
    Ro,
    Nosuid,
    Nodev,
    Noexec,
}

/// The new root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Size of the root tmpfs, read-only once it is filled.
    pub root_bytes: u64,
    /// Its inodes.
    pub root_inodes: u64,
    /// What is done, in order.
    pub ops: Vec<Op>,
}

/// What a bind's source must be, as the supervisor saw it; the child opens it again in its own namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Device number of the file system.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
}

#[derive(Debug)]
enum Do {
    Dir(CString, Mode),
    File(CString, Mode, Vec<u8>),
    Symlink(CString, CString),
    Bind { path: CString, source: usize, attributes: u64, node: bool },
    Tmpfs { path: CString, size: CString, inodes: CString, attributes: u64, mode: &'static str },
    Hold(CString),
    Place(CString),
    Alias(CString, CString),
}

#[derive(Debug)]
struct Opened {
    path: CString,
    identity: Identity,
    // (major, minor) where it must be that character device.
    device: Option<(u64, u64)>,
}

/// The plan with every C string made and every byte in memory.
#[derive(Debug)]
pub struct Prepared {
    root_size: CString,
    root_inodes: CString,
    sources: Vec<Opened>,
    ops: Vec<Do>,
    // Attributes that the laboratory leaves out.
    #[cfg(feature = "lab")]
    left_out: u64,
}

/// Gives the bytes of a `Content` that is not in the plan.
pub type Lookup<'a> = dyn Fn(&Content) -> Option<Vec<u8>> + 'a;

fn relative(path: &str) -> Result<CString, ApplyError> {
    CString::new(path.trim_start_matches('/'))
        .map_err(io::Error::from)
        .step(Layer::Mounts, "a path with a NUL")
}

fn decimal(number: u64) -> Result<CString, ApplyError> {
    CString::new(number.to_string()).map_err(io::Error::from).step(Layer::Mounts, "a number")
}

fn attributes(flags: &[Flag]) -> u64 {
    flags.iter().fold(0, |bits, flag| {
        bits | match flag {
            Flag::Ro => attr::RDONLY,
            Flag::Nosuid => attr::NOSUID,
            Flag::Nodev => attr::NODEV,
            Flag::Noexec => attr::NOEXEC,
        }
    })
}

impl Source {
    fn path(&self) -> PathBuf {
        match self {
            Self::Runtime(path) | Self::Host(path) => path.clone(),
            Self::Device(name) => Path::new("/dev").join(device(*name).0),
        }
    }
}

/// Name, major and minor number.
const fn device(name: DeviceName) -> (&'static str, u64, u64) {
    match name {
        DeviceName::Null => ("null", 1, 3),
        DeviceName::Zero => ("zero", 1, 5),
        DeviceName::Full => ("full", 1, 7),
        DeviceName::Random => ("random", 1, 8),
        DeviceName::Urandom => ("urandom", 1, 9),
    }
}

impl Prepared {
    /// Looks at each source once; the child must find the same.
    pub fn new(plan: &Plan, bytes: &Lookup<'_>) -> Result<Self, ApplyError> {
        let mut sources = Vec::new();
        let mut ops = Vec::new();
        for op in &plan.ops {
            ops.push(match op {
                Op::Dir { path, mode } => Do::Dir(relative(path)?, Mode::from_bits_truncate(*mode)),
                Op::File { path, content, mode } => {
                    let bytes = match content {
                        Content::Text(text) => text.clone().into_bytes(),
                        other => bytes(other)
                            .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
                            .step(Layer::Mounts, "a file of the plan has no bytes")?,
                    };
                    Do::File(relative(path)?, Mode::from_bits_truncate(*mode), bytes)
                }
                Op::Symlink { path, target } => Do::Symlink(
                    relative(path)?,
                    CString::new(target.as_str())
                        .map_err(io::Error::from)
                        .step(Layer::Mounts, "a path with a NUL")?,
                ),
                Op::Bind { source, path, flags, .. } => {
                    let opened = look(source)?;
                    sources.push(opened.0);
                    Do::Bind {
                        path: relative(path)?,
                        source: sources.len() - 1,
                        attributes: attributes(flags),
                        node: opened.1,
                    }
                }
                Op::Tmpfs { path, bytes, inodes, flags, .. } => Do::Tmpfs {
                    path: relative(path)?,
                    size: decimal(*bytes)?,
                    inodes: decimal(*inodes)?,
                    attributes: attributes(flags),
                    mode: "0700",
                },
                Op::Hold { path } => Do::Hold(relative(path)?),
                Op::Place { path, .. } => Do::Place(relative(path)?),
                Op::Alias { from, path, .. } => Do::Alias(relative(from)?, relative(path)?),
            });
        }
        Ok(Self {
            root_size: decimal(plan.root_bytes)?,
            root_inodes: decimal(plan.root_inodes)?,
            sources,
            ops,
            #[cfg(feature = "lab")]
            left_out: 0,
        })
    }

    /// Leaves out what the laboratory says.
    #[cfg(feature = "lab")]
    pub fn leave_out(&mut self, without: Without) {
        let flags = [
            (Wall::MountsReadonly, attr::RDONLY),
            (Wall::MountsNosuid, attr::NOSUID),
            (Wall::MountsNodev, attr::NODEV),
            (Wall::MountsNoexec, attr::NOEXEC),
        ];
        let left_out =
            flags.iter().filter(|(wall, _)| without.has(*wall)).fold(0, |bits, (_, bit)| bits | bit);
        self.left_out = left_out;
        for op in &mut self.ops {
            if let Do::Bind { attributes, .. } | Do::Tmpfs { attributes, .. } = op {
                *attributes &= !left_out;
            }
            if let Do::Tmpfs { size, inodes, .. } = op
                && without.has(Wall::MountsSizes)
            {
                // tmpfs(5): 0 is no limit.
                (*size, *inodes) = (c"0".into(), c"0".into());
            }
        }
    }

    /// The attributes as they are set: as planned, but in the laboratory.
    #[cfg_attr(
        not(feature = "lab"),
        expect(clippy::unused_self, reason = "the laboratory's plan says what is left out")
    )]
    fn attributes(&self, planned: u64) -> u64 {
        #[cfg(feature = "lab")]
        let planned = planned & !self.left_out;
        planned
    }
}

fn look(source: &Source) -> Result<(Opened, bool), ApplyError> {
    use std::os::unix::ffi::OsStrExt as _;
    let path = source.path();
    let path = CString::new(path.as_os_str().as_bytes())
        .map_err(io::Error::from)
        .step(Layer::Mounts, "a path with a NUL")?;
    let stat = nix::sys::stat::stat(path.as_c_str()).step(Layer::Mounts, "stat a bind's source")?;
    let device = match source {
        Source::Device(name) => {
            let (_, major, minor) = device(*name);
            Some((major, minor))
        }
        Source::Runtime(_) | Source::Host(_) => None,
    };
    let node = stat.st_mode & libc::S_IFMT != libc::S_IFDIR;
    let opened = Opened { path, identity: Identity { dev: stat.st_dev, ino: stat.st_ino }, device };
    check_device(&opened, &stat)?;
    Ok((opened, node))
}

fn check_device(opened: &Opened, stat: &libc::stat) -> Result<(), ApplyError> {
    let Some((major, minor)) = opened.device else { return Ok(()) };
    let is = stat.st_mode & libc::S_IFMT == libc::S_IFCHR
        && u64::from(libc::major(stat.st_rdev)) == major
        && u64::from(libc::minor(stat.st_rdev)) == minor;
    if is {
        return Ok(());
    }
    Err(io::Error::from_raw_os_error(libc::ENODEV))
        .step(Layer::Mounts, "a node in /dev is not the device of its name")
}

/// Opens the sources of the binds in this mount namespace, while the credentials still reach them.
pub(super) fn open_sources(prepared: &Prepared) -> Result<Vec<OwnedFd>, ApplyError> {
    let open_one = |source: &Opened| {
        let fd = open(source.path.as_c_str(), OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty())
            .step(Layer::Mounts, "open a bind's source")?;
        let stat = fstat(&fd).step(Layer::Mounts, "fstat a bind's source")?;
        if (Identity { dev: stat.st_dev, ino: stat.st_ino }) != source.identity {
            return Err(io::Error::from_raw_os_error(libc::ESTALE))
                .step(Layer::Mounts, "a bind's source was exchanged");
        }
        check_device(source, &stat)?;
        Ok(fd)
    };
    prepared.sources.iter().map(open_one).collect()
}

fn tmpfs(size: &CString, inodes: &CString, mode: &str, attributes: u64) -> Result<OwnedFd, ApplyError> {
    let mode = CString::new(mode).unwrap_or_default();
    let fs = mount::fsopen(c"tmpfs").step(Layer::Mounts, "fsopen(tmpfs)")?;
    let set = |key, value: &CString| mount::fsconfig_set_string(fs.as_fd(), key, value);
    set(c"size", size).step(Layer::Mounts, "fsconfig(size)")?;
    set(c"nr_inodes", inodes).step(Layer::Mounts, "fsconfig(nr_inodes)")?;
    set(c"mode", &mode).step(Layer::Mounts, "fsconfig(mode)")?;
    mount::fsconfig_create(fs.as_fd()).step(Layer::Mounts, "fsconfig(CMD_CREATE)")?;
    mount::fsmount(fs.as_fd(), attributes).step(Layer::Mounts, "fsmount")
}

/// Builds the root on top of `/proc` of the private namespace (a directory that is always there; nothing is made on
/// the host, so nothing can be left there), fills it, and pivots into it.
pub(super) fn apply(prepared: &Prepared, sources: Vec<OwnedFd>) -> Result<(), ApplyError> {
    mount::make_all_private().step(Layer::Mounts, "mount_setattr(/, MS_PRIVATE)")?;
    let binds = sources
        .iter()
        .map(|source| mount::open_tree_clone(source.as_raw_fd(), c"").step(Layer::Mounts, "open_tree"))
        .collect::<Result<Vec<_>, _>>()?;
    drop(sources);
    let flags = prepared.attributes(attr::NOSUID | attr::NODEV | attr::NOEXEC);
    let root = tmpfs(&prepared.root_size, &prepared.root_inodes, "0755", flags)?;
    mount::move_mount(root.as_fd(), libc::AT_FDCWD, c"/proc").step(Layer::Mounts, "move_mount(root)")?;
    nix::unistd::fchdir(&root).step(Layer::Mounts, "fchdir(root)")?;
    let umask = nix::sys::stat::umask(Mode::empty());
    let mut held = None;
    for op in &prepared.ops {
        perform(prepared, op, &binds, &mut held)?;
    }
    nix::sys::stat::umask(umask);
    mount::mount_setattr(root.as_fd(), flags | prepared.attributes(attr::RDONLY))
        .step(Layer::Mounts, "mount_setattr(root, RDONLY)")?;
    mount::pivot_root_here().step(Layer::Mounts, "pivot_root")?;
    nix::unistd::chdir("/workdir").step(Layer::Mounts, "chdir(/workdir)")
}

fn perform(
    prepared: &Prepared,
    op: &Do,
    binds: &[OwnedFd],
    held: &mut Option<OwnedFd>,
) -> Result<(), ApplyError> {
    match op {
        Do::Dir(path, mode) => make_dir(path, *mode),
        Do::File(path, mode, bytes) => make_file(path, *mode, bytes),
        Do::Symlink(path, target) => {
            nix::unistd::symlinkat(target.as_c_str(), nix::fcntl::AT_FDCWD, path.as_c_str())
                .step(Layer::Mounts, "symlink")
        }
        Do::Bind { path, source, attributes, node } => {
            let tree = binds
                .get(*source)
                .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
                .step(Layer::Mounts, "a bind without a source")?;
            mount::mount_setattr_recursive(tree.as_fd(), *attributes)
                .step(Layer::Mounts, "mount_setattr(bind)")?;
            if *node {
                make_file(path, Mode::from_bits_truncate(0o644), b"")?;
            } else {
                make_dir(path, Mode::from_bits_truncate(0o755))?;
            }
            attach(tree, path)
        }
        Do::Tmpfs { path, size, inodes, attributes, mode } => {
            let mounted = tmpfs(size, inodes, mode, *attributes)?;
            attach(&mounted, path)
        }
        Do::Hold(path) => {
            let view = mount::open_tree_clone(libc::AT_FDCWD, path).step(Layer::Mounts, "open_tree(hold)")?;
            let flags = attr::RDONLY | attr::NOSUID | attr::NODEV | attr::NOEXEC;
            mount::mount_setattr(view.as_fd(), prepared.attributes(flags))
                .step(Layer::Mounts, "mount_setattr(hold)")?;
            *held = Some(view);
            Ok(())
        }
        Do::Place(path) => {
            let view = held
                .take()
                .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
                .step(Layer::Mounts, "place without hold")?;
            attach(&view, path)
        }
        Do::Alias(from, path) => {
            let tree =
                mount::open_tree_clone(libc::AT_FDCWD, from).step(Layer::Mounts, "open_tree(alias)")?;
            attach(&tree, path)
        }
    }
}

fn attach(tree: &OwnedFd, path: &CString) -> Result<(), ApplyError> {
    mount::move_mount(tree.as_fd(), libc::AT_FDCWD, path).step(Layer::Mounts, "move_mount")
}

fn make_dir(path: &CString, mode: Mode) -> Result<(), ApplyError> {
    match nix::unistd::mkdir(path.as_c_str(), mode) {
        Err(nix::Error::EEXIST) => Ok(()),
        other => other.step(Layer::Mounts, "mkdir"),
    }
}

fn make_file(path: &CString, mode: Mode, bytes: &[u8]) -> Result<(), ApplyError> {
    use io::Write as _;
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let fd = open(path.as_c_str(), flags, mode).step(Layer::Mounts, "create a file")?;
    std::fs::File::from(fd).write_all(bytes).step(Layer::Mounts, "write a file")
}
