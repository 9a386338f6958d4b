//! The pinned Python: built once, found, verified, named by its digest.
//!
//! A tree has one directory, `usr`, which the jail shows read-only at `/usr`, and two files beside it: [`lock::LOCK`]
//! holds the sum of every file, [`lock::IDENTITY`] the part that each run reads. All files are 0444 (interpreter and
//! loader 0555), all directories 0755; there are no links, no setuid files and no shell.
//!
//! # What a run verifies
//!
//! [`Verify::Full`] sums every file and compares it with the lock: nothing added, missing or changed.
//!
//! [`Verify::Identity`] is for the hot path. It proves that the head (version, interpreter, loader, environment) and the
//! sums of the *key* files belong to the digest, and that each key file (interpreter, loader, shared libraries
//! outside the standard library, start-up module) is the inode that was built, not written to since: same inode number, size, mode, mtime and ctime.
//! Where that cannot be told (the tree was copied, or came with a container image) the key file's bytes are summed
//! instead, until `skilljail runtime verify --record` has written the identity anew. It does not look at the other files: a standard library module that the tree's owner changed shows only in
//! a full verification. Nobody else can change one: the tree, `usr` and the key files must belong to root or to the
//! caller and be writable by nobody else.

pub mod build;
mod error;
mod identity;
pub mod lock;
mod lookup;
mod open;
mod opened;
pub mod sets;
mod verify;

pub use error::RuntimeError;
pub use lookup::{default_out, find, places};
pub use open::{Runtime, Verified, Verify};
pub use verify::{Drift, drift, record};
