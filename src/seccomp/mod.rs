//! The seccomp filters: data in, a proven BPF program out.
//!
//! ```text
//! seccomp/*.json --json--> Filter --tree-->      the program that is installed
//!                            |  \---reference--> what seccompiler makes of the same allow-set
//!                            \--prove: both interpreted over the whole input space, compared, every
//!                               guarantee shown; a difference refuses the filter, with a witness
//! ```
//!
//! The shipped filters go through all of it while the crate is built ([`shipped`]); a user's file as it is loaded
//! ([`load`], feature `review`). Nothing here installs anything: see [`crate::sys::seccomp`].

pub mod bpf;
mod compiled;
pub mod constants;
pub mod decode;
pub mod error;
pub mod filter;
#[cfg(feature = "review")]
pub mod guarantee;
pub mod json;
#[cfg(feature = "review")]
pub mod prove;
#[cfg(feature = "review")]
pub mod reference;
#[cfg(feature = "review")]
pub mod region;
pub mod syscalls;
#[cfg(feature = "review")]
pub mod tree;
#[cfg(feature = "review")]
pub mod verify;

#[cfg(feature = "review")]
pub use compiled::load;
pub use compiled::{Compiled, Listed, names, shipped, source_of};
pub use constants::{EXEC_FD, EXEC_PATH, MAX_ADDRESS_SPACE, MAX_NOFILE};
pub use error::FilterError;
pub use filter::{Action, Arch, Filter};
