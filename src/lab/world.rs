//! The laboratory's world: namespaces between the host and the jail. As root the world belongs to an unprivileged outer
//! id, so that no capability in it means anything for the host's files.

use crate::layer::mounts::{Op, Source};
use crate::layer::{ApplyError, idmap};
use crate::plan::Plan;
use crate::supervisor::{channel, outer};
use crate::sys::clone3::{Cloned, clone3};
use crate::sys::{cred, errno, fd, mount, netdevice, prctl, wait};
use nix::sched::CloneFlags;
use nix::sys::stat::Mode;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The host name of the world.
pub const HOSTNAME: &str = "laboratory";

/// Which side of the door this is.
#[derive(Debug)]
pub enum Side {
    /// In the world: go on.
    Inside,
    /// On the host: the one inside ended with this code.
    Outside(u8),
}

fn failed(step: &'static str) -> impl Fn(io::Error) -> ApplyError {
    move |error| ApplyError { layer: "laboratory", step, errno: errno(&error) }
}

/// Makes the world and enters it. `plan`'s bind sources are brought along, whoever can reach them on the host.
pub fn enter(range: &crate::policy::schema::OuterIds, plan: &mut Plan) -> Result<Side, ApplyError> {
    let (maps, held) = outer::maps(&idmap::plan(nix::unistd::geteuid().as_raw(), range))?;
    let (ours, theirs) = channel::pair().map_err(|e| failed("socketpair")(e.into()))?;
    let flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWCGROUP;
    match clone3(u64::from(flags.bits().unsigned_abs()), None).map_err(failed("clone3"))? {
        Cloned::Parent { pid, .. } => {
            drop(theirs);
            let told = idmap::write_maps(&maps, pid)
                .and_then(|()| channel::send_go(ours.as_fd()).map_err(failed("send go")));
            if told.is_err() {
                // End of file: it leaves.
                drop(ours);
            }
            let (_, ended) = wait::wait4(pid).map_err(failed("wait4"))?;
            drop(held);
            told?;
            let signaled =
                || 128u8.wrapping_add(ended.signal().and_then(|s| u8::try_from(s).ok()).unwrap_or(0));
            Ok(Side::Outside(ended.exit_code().unwrap_or_else(signaled)))
        }
        Cloned::Child => {
            drop(ours);
            furnish(&maps, &theirs, plan).map(|()| Side::Inside)
        }
    }
}

/// The way of the jail's own layers, in short.
fn furnish(maps: &idmap::Prepared, door: &OwnedFd, plan: &mut Plan) -> Result<(), ApplyError> {
    channel::wait_go(door.as_raw_fd()).map_err(failed("wait for the maps"))?;
    // While the credentials still reach them.
    let brought = bring(plan)?;
    if maps.switch {
        cred::setgroups_none().map_err(failed("setgroups"))?;
        cred::setresgid(idmap::INNER_ID).map_err(failed("setresgid"))?;
        cred::setresuid(idmap::INNER_ID).map_err(failed("setresuid"))?;
        // The change of uid took /proc/PID/uid_map of our own children from us.
        prctl::set_dumpable(true).map_err(failed("prctl(PR_SET_DUMPABLE)"))?;
    }
    prctl::set_pdeathsig(libc::SIGKILL).map_err(failed("prctl(PR_SET_PDEATHSIG)"))?;
    if fd::peer_is_gone(door.as_raw_fd()) {
        return Err(failed("the one outside is gone")(io::Error::from_raw_os_error(libc::EPIPE)));
    }
    // A kill(0) out of a jail without a session of its own ends here, not in the caller's process group.
    nix::unistd::setsid().map_err(|e| failed("setsid")(e.into()))?;
    place(plan, &brought)?;
    nix::unistd::sethostname(HOSTNAME).map_err(|e| failed("sethostname")(e.into()))?;
    netdevice::loopback_up().map_err(failed("loopback up"))
}

fn hosts(source: &Source) -> Option<&Path> {
    match source {
        Source::Runtime(path) | Source::Host(path) => Some(path),
        Source::Device(_) => None,
    }
}

fn is_dir(tree: &OwnedFd) -> Result<bool, ApplyError> {
    let stat = nix::sys::stat::fstat(tree).map_err(|e| failed("fstat")(e.into()))?;
    Ok(stat.st_mode & libc::S_IFMT == libc::S_IFDIR)
}

fn bring(plan: &Plan) -> Result<Vec<OwnedFd>, ApplyError> {
    let mut brought = Vec::new();
    for op in &plan.mounts.ops {
        let Op::Bind { source, .. } = op else { continue };
        let Some(path) = hosts(source) else { continue };
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|e| failed("a path")(e.into()))?;
        let tree = mount::open_tree_clone(libc::AT_FDCWD, &path).map_err(failed("open_tree"))?;
        brought.push(tree);
    }
    Ok(brought)
}

/// Puts what was brought below a tmpfs on `/sys`, a directory that is always there and that no jail needs, and lets the
/// plan say so.
fn place(plan: &mut Plan, brought: &[OwnedFd]) -> Result<(), ApplyError> {
    mount::make_all_private().map_err(failed("mount_setattr(/, MS_PRIVATE)"))?;
    let fs = mount::fsopen(c"tmpfs").map_err(failed("fsopen(tmpfs)"))?;
    mount::fsconfig_create(fs.as_fd()).map_err(failed("fsconfig(CMD_CREATE)"))?;
    let room = mount::fsmount(fs.as_fd(), 0).map_err(failed("fsmount"))?;
    mount::move_mount(room.as_fd(), libc::AT_FDCWD, c"/sys").map_err(failed("move_mount"))?;
    let mut left = brought.iter().enumerate();
    for op in &mut plan.mounts.ops {
        let Op::Bind { source, .. } = op else { continue };
        if hosts(source).is_none() {
            continue;
        }
        let Some((number, tree)) = left.next() else { break };
        let path = PathBuf::from(format!("/sys/{number}"));
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|e| failed("a path")(e.into()))?;
        let made = if is_dir(tree)? {
            nix::unistd::mkdir(&path, Mode::from_bits_truncate(0o755)).map_err(io::Error::from)
        } else {
            std::fs::write(&path, b"")
        };
        made.map_err(failed("a place for a bind's source"))?;
        mount::move_mount(tree.as_fd(), libc::AT_FDCWD, &name).map_err(failed("move_mount"))?;
        *source = match source {
            Source::Runtime(_) => Source::Runtime(path),
            _ => Source::Host(path),
        };
    }
    Ok(())
}
