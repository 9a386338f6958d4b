//! The only unsafe code: thin, named as the man pages are, without policy and without logs.

pub mod execveat;
pub mod seccomp;
