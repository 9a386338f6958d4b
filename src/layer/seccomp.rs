//! The filter: installed last, by the payload's process itself, its listener handed to the supervisor.

#[cfg(feature = "lab")]
use super::without::{Wall, Without};
use super::{ApplyError, Layer, Link, Step as _};
use crate::seccomp::Compiled;
use crate::seccomp::bpf::SockFilter;
use crate::sys;
use serde::Serialize;
use std::io;
use std::os::fd::AsRawFd;

/// What is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The filter's name or file.
    pub filter: String,
    /// sha256 of the program.
    pub digest: String,
    /// Instructions of the program.
    pub instructions: usize,
}

/// The plan of a policy's filter.
pub fn plan(filter: &str, compiled: &Compiled) -> Plan {
    Plan {
        filter: filter.to_owned(),
        digest: compiled.digest().to_owned(),
        instructions: compiled.program().len(),
    }
}

/// The programs.
#[derive(Debug)]
pub struct Prepared {
    /// For the payload.
    pub payload: Vec<SockFilter>,
    /// For init.
    pub init: Vec<SockFilter>,
    /// Whether the payload's program sends calls to the supervisor.
    pub notify: bool,
}

/// Installs the payload's filter. With a listener: tells the supervisor its number, and waits until it has taken it.
pub(super) fn apply(
    prepared: &Prepared,
    link: &mut dyn Link,
    #[cfg(feature = "lab")] without: Without,
) -> Result<(), ApplyError> {
    // The one exec that the filter allows names its empty path by this address.
    sys::execveat::map_empty_path().step(Layer::Seccomp, "mmap (the empty path of the exec)")?;
    #[cfg(feature = "lab")]
    if without.has(Wall::Seccomp) {
        return link.offer_listener(None).step(Layer::Seccomp, "go on without a filter");
    }
    let listener = sys::seccomp::install(&prepared.payload, prepared.notify)
        .step(Layer::Seccomp, "seccomp(SECCOMP_SET_MODE_FILTER)")?;
    if listener.is_none() && prepared.notify {
        return Err(io::Error::from_raw_os_error(libc::EIO))
            .step(Layer::Seccomp, "seccomp: no listener came");
    }
    let number = listener.as_ref().map(AsRawFd::as_raw_fd);
    link.offer_listener(number).step(Layer::Seccomp, "hand over the listener")
}

/// Init's own filter.
pub fn seal_init(prepared: &Prepared) -> Result<(), ApplyError> {
    sys::seccomp::install(&prepared.init, false).step(Layer::Seccomp, "seccomp (init)").map(drop)
}
