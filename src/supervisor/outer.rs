//! The outer uid of a run that root started: one of the policy's range, held for this run alone.

use crate::layer::{ApplyError, idmap};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, socket};
use std::os::fd::{AsRawFd as _, OwnedFd};

/// The id, and what holds it.
#[derive(Debug)]
pub struct Held {
    /// uid and gid outside.
    pub id: u32,
    // An abstract socket's name is free again the moment its last descriptor is closed, also by SIGKILL.
    _lock: OwnedFd,
}

/// Takes the first free id of the range, starting at one that depends on our pid so that runs rarely meet.
pub fn hold(first: u32, count: u32) -> Result<Held, ApplyError> {
    let failed = |step, errno| ApplyError { layer: "idmap", step, errno };
    let start = std::process::id() % count;
    for offset in 0..count {
        let id = first + (start + offset) % count;
        let lock = socket(AddressFamily::Unix, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
            .map_err(|errno| failed("socket (outer id)", errno as i32))?;
        let name = UnixAddr::new_abstract(format!("skilljail/outer-id/{id}").as_bytes())
            .map_err(|errno| failed("abstract name (outer id)", errno as i32))?;
        match bind(lock.as_raw_fd(), &name) {
            Ok(()) => return Ok(Held { id, _lock: lock }),
            Err(nix::Error::EADDRINUSE) => {}
            Err(errno) => return Err(failed("bind (outer id)", errno as i32)),
        }
    }
    Err(failed("every id of the policy's outer_ids is in use", libc::EAGAIN))
}

/// The map lines of a plan, with the id that they need.
pub fn maps(plan: &idmap::Plan) -> Result<(idmap::Prepared, Option<Held>), ApplyError> {
    let (uid, gid, held) = match plan.outer {
        idmap::Outer::Caller => (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw(), None),
        idmap::Outer::OneOf { first, count, .. } => {
            let held = hold(first, count)?;
            (held.id, held.id, Some(held))
        }
    };
    let line = |outer: u32| format!("{} {outer} 1", plan.inner);
    Ok((idmap::Prepared { uid_map: line(uid), gid_map: line(gid), switch: held.is_some() }, held))
}
