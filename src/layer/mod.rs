//! The layers, and their order, written once.
//!
//! Each layer has a pure `Plan` and an `apply()` that makes system calls; no layer knows another's types. What every
//! one needs beforehand (descriptors, C strings, BPF bytes) is prepared before clone, so that the child only calls.

pub mod fds;
pub mod idmap;
pub mod landlock;
pub mod mounts;
pub mod net;
pub mod privs;
pub mod rlimits;
pub mod seccomp;
#[cfg(feature = "lab")]
pub mod without;

use crate::sys;
use serde::Serialize;
use std::io;
use std::time::{Duration, Instant};

/// The layers in the order in which they are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Descriptors: 0 to 2 and the jail's own, nothing of the caller's.
    Fds,
    /// User namespace, its maps, credentials, and the tie to the supervisor's life.
    Idmap,
    /// Mount namespace: a new root, and the old one gone.
    Mounts,
    /// Network, UTS and IPC namespaces.
    Net,
    /// Resource limits.
    Rlimits,
    /// Capabilities, no_new_privs, keyring.
    Privs,
    /// Landlock.
    Landlock,
    /// The seccomp filter.
    Seccomp,
}

impl Layer {
    /// All of them, in order.
    pub const ALL: [Self; 8] = [
        Self::Fds,
        Self::Idmap,
        Self::Mounts,
        Self::Net,
        Self::Rlimits,
        Self::Privs,
        Self::Landlock,
        Self::Seccomp,
    ];

    /// The name that results and messages use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idmap => "idmap",
            Self::Fds => "fds",
            Self::Mounts => "mounts",
            Self::Net => "net",
            Self::Rlimits => "rlimits",
            Self::Privs => "privs",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
        }
    }
}

/// A layer could not be applied: nothing runs. The host, or what the operator allowed us on it, is at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{layer}: {step}: {}", io::Error::from_raw_os_error(*errno))]
pub struct ApplyError {
    /// The layer's name (`payload` and `supervisor` speak in the same way).
    pub layer: &'static str,
    /// What was being done, in the words of the man page.
    pub step: &'static str,
    /// The kernel's answer.
    pub errno: i32,
}

/// Names the step that failed.
pub(crate) trait Step<T> {
    /// `step` is what the result document will say.
    fn step(self, layer: Layer, step: &'static str) -> Result<T, ApplyError>;
}

impl<T> Step<T> for io::Result<T> {
    fn step(self, layer: Layer, step: &'static str) -> Result<T, ApplyError> {
        self.map_err(|error| ApplyError { layer: layer.name(), step, errno: sys::errno(&error) })
    }
}

impl<T> Step<T> for nix::Result<T> {
    fn step(self, layer: Layer, step: &'static str) -> Result<T, ApplyError> {
        self.map_err(|errno| ApplyError { layer: layer.name(), step, errno: errno as i32 })
    }
}

/// Everything that the child needs, made before clone.
#[derive(Debug)]
pub struct Prepared {
    /// Maps and credentials.
    pub idmap: idmap::Prepared,
    /// The descriptor table.
    pub fds: fds::Prepared,
    /// The new root.
    pub mounts: mounts::Prepared,
    /// Host name.
    pub net: net::Plan,
    /// Resource limits.
    pub rlimits: rlimits::Plan,
    /// Capabilities.
    pub privs: privs::Plan,
    /// Landlock rules.
    pub landlock: landlock::Prepared,
    /// Filters.
    pub seccomp: seccomp::Prepared,
    /// The walls that the laboratory leaves out.
    #[cfg(feature = "lab")]
    pub without: without::Without,
}

/// Proof that every layer is in force in this process. Only [`apply_all`] makes one, only
/// [`crate::payload::exec`] takes it, and only that executes anything: a forgotten layer does not compile.
///
/// ```compile_fail,E0451
/// let proof = skilljail::layer::Sealed { _private: () };
/// ```
///
/// ```compile_fail,E0063
/// let proof = skilljail::layer::Sealed {};
/// ```
///
/// What can be made is no proof:
///
/// ```compile_fail,E0308
/// # use skilljail::{payload, sys::execveat::CVector};
/// let (argv, envp) = (CVector::new(vec![]), CVector::new(vec![]));
/// payload::exec(&(), &argv, &envp);
/// ```
#[derive(Debug)]
pub struct Sealed {
    _private: (),
}

/// How long each layer took in the child, in microseconds, but for the filter, after which nothing is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Took(pub [u32; Layer::ALL.len() - 1]);

impl Took {
    /// Each layer's name and time.
    pub fn named(self) -> impl Iterator<Item = (&'static str, Duration)> {
        let times = self.0.into_iter().map(|us| Duration::from_micros(u64::from(us)));
        Layer::ALL.iter().map(|layer| layer.name()).zip(times)
    }
}

/// A clock that is read after each layer.
struct Laps {
    last: Instant,
    took: Took,
}

impl Laps {
    fn start() -> Self {
        Self { last: Instant::now(), took: Took::default() }
    }

    /// What went by since the last reading was this layer's.
    fn lap(&mut self, layer: Layer) {
        let now = Instant::now();
        let us = now.saturating_duration_since(self.last).as_micros();
        if let Some(slot) = self.took.0.get_mut(layer as usize) {
            *slot = u32::try_from(us).unwrap_or(u32::MAX);
        }
        self.last = now;
    }
}

/// Facts that only the child knows, for the result document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// The Landlock ABI whose rights are handled.
    pub landlock_abi: u32,
    /// Nested user namespaces are refused by the kernel too (`max_user_namespaces` is 0).
    pub no_nested_userns: bool,
    /// The session keyring is the jail's own.
    pub own_keyring: bool,
    /// How long the layers took.
    pub took: Took,
    /// What the net layer found out.
    pub net: NetFacts,
}

/// What the net layer found out, for the supervisor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NetFacts {
    /// The jail has IPv6: each port has a listener of either family.
    pub v6: bool,
    /// The last socket is the packet tap.
    pub tap: bool,
}

/// The child's line to the supervisor, as the layers need it.
pub trait Link {
    /// Waits for the explicit "go" that comes when the maps are written. End of file means that nobody is there.
    fn wait_go(&mut self) -> io::Result<()>;
    /// Whether the supervisor died. Asked after the parent-death signal is set: if it died before that, no signal will
    /// come, but its end of the channel is closed.
    fn peer_is_gone(&self) -> bool;
    /// Hands the sockets of the net namespace over: the stub's datagrams, its listener, the listeners, the tap.
    fn hand_over(&mut self, sockets: &[i32], facts: NetFacts) -> io::Result<()>;
    /// Makes the process that will be the payload, between Landlock and seccomp. Returns only in that process; the
    /// one that called becomes init and never comes back.
    fn fork(&mut self, facts: Facts) -> Result<(), ApplyError>;
    /// Tells the supervisor that the filter is in force and the number of its notification listener, if it has one,
    /// and waits until that is taken.
    fn offer_listener(&mut self, listener: Option<i32>) -> io::Result<()>;
}

/// Applies every layer in order, in the process that clone made. Only a build for the laboratory can leave a wall out.
pub fn apply_all(prepared: &Prepared, link: &mut dyn Link) -> Result<Sealed, ApplyError> {
    #[cfg(feature = "lab")]
    let without = prepared.without;
    let mut laps = Laps::start();
    fds::apply(
        &prepared.fds,
        #[cfg(feature = "lab")]
        without,
    )?;
    laps.lap(Layer::Fds);
    link.wait_go().step(Layer::Idmap, "wait for the maps")?;
    laps.last = Instant::now();
    let sources = mounts::open_sources(&prepared.mounts)?;
    let no_nested_userns = idmap::apply(
        &prepared.idmap,
        #[cfg(feature = "lab")]
        without,
    )?;
    if link.peer_is_gone() {
        return Err(io::Error::from_raw_os_error(libc::EPIPE)).step(Layer::Idmap, "the supervisor is gone");
    }
    laps.lap(Layer::Idmap);
    mounts::apply(&prepared.mounts, sources)?;
    laps.lap(Layer::Mounts);
    let net = net::apply(
        &prepared.net,
        link,
        #[cfg(feature = "lab")]
        without,
    )?;
    laps.lap(Layer::Net);
    rlimits::apply(&prepared.rlimits)?;
    laps.lap(Layer::Rlimits);
    let own_keyring = privs::apply(
        &prepared.privs,
        #[cfg(feature = "lab")]
        without,
    )?;
    laps.lap(Layer::Privs);
    let landlock_abi = landlock::apply(
        &prepared.landlock,
        #[cfg(feature = "lab")]
        without,
    )?;
    laps.lap(Layer::Landlock);
    link.fork(Facts { landlock_abi, no_nested_userns, own_keyring, took: laps.took, net })?;
    seccomp::apply(
        &prepared.seccomp,
        link,
        #[cfg(feature = "lab")]
        without,
    )?;
    Ok(Sealed { _private: () })
}
