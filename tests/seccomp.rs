//! The filters against the kernel.
#![allow(unsafe_code, clippy::multiple_unsafe_ops_per_block)]
#[path = "seccomp/child.rs"]
mod child;
#[path = "seccomp/python.rs"]
mod python;
