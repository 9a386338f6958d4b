//! The filters against the kernel: what the prover says is what a child gets.
#![allow(unsafe_code, clippy::multiple_unsafe_ops_per_block, clippy::pedantic)]

#[path = "seccomp/agree.rs"]
mod agree;
#[path = "seccomp/child.rs"]
mod child;
#[path = "seccomp/entries.rs"]
mod entries;
#[path = "seccomp/exec.rs"]
mod exec;
#[path = "seccomp/mutants.rs"]
mod mutants;
#[path = "seccomp/size.rs"]
mod size;
#[path = "seccomp/walls.rs"]
mod walls;
