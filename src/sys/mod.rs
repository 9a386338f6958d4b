//! The only unsafe code: thin, named as the man pages are, without policy and without logs.

pub mod fcntl;
pub mod openat2;
