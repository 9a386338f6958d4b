//! The only unsafe code: thin, named as the man pages are, without policy and without logs.
//!
//! Each function is one system call (or one call with its ritual). Errors are the kernel's `errno`, untouched.

#[cfg(any(feature = "lab", feature = "battery"))]
pub mod add_key;
#[cfg(feature = "lab")]
pub mod ambient;
pub mod clone3;
pub mod cred;
pub mod execveat;
pub mod exit_group;
pub mod fcntl;
pub mod fd;
pub mod getauxval;
pub mod keyctl;
pub mod landlock_abi;
pub mod mount;
pub mod netdevice;
pub mod openat2;
pub mod packet;
pub mod pidfd;
pub mod prctl;
pub mod prctl_read;
#[cfg(feature = "battery")]
pub mod raw_call;
pub mod renameat2;
pub mod rlimit;
pub mod rtnetlink;
pub mod sched;
pub mod seccomp;
pub mod seccomp_probe;
#[cfg(any(feature = "lab", feature = "battery"))]
pub mod shm;
pub mod signal;
pub mod statx_root;
pub mod uname;
pub mod wait;

use std::io;

/// Turns the C convention (-1 and `errno`) into a `Result`.
fn checked(ret: libc::c_long) -> io::Result<libc::c_long> {
    if ret == -1 { Err(io::Error::last_os_error()) } else { Ok(ret) }
}

/// The raw `errno` of an error that came from this module; `EIO` for one that did not.
pub fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}
