//! The only unsafe code: thin, named as the man pages are, without policy and without logs.

pub mod fork;
pub mod getauxval;
pub mod keyctl;
pub mod landlock_abi;
pub mod netdevice;
pub mod pidfd_getfd;
pub mod prctl_read;
pub mod seccomp_probe;
pub mod statx_root;
pub mod uname;
