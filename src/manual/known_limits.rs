//! # What is not stopped
//!
//! Known, and said here rather than hoped away. Each was tried. What the egress profile cannot stop is [its own list](super::egress).
//!
//! - **A shared futex on a file of the pinned Python.** All runs map the same inodes of the runtime, and the kernel finds a futex
//!   that is not private by inode and offset: two runs that agree on a place can wake each other. The C library needs such
//!   waits itself (a thread's end is one), so the filter cannot refuse them. It carries a bit at a time, and needs two runs that
//!   both want to talk. A host that must not have it gives each tenant a copy of the tree of its own (`--runtime`).
//! - **F_GETLK** tells which record locks processes of the *host* hold on a file of the runtime; runs themselves hold none,
//!   because taking one is answered without being done. `strict` refuses it.
//! - **`sysinfo` and `uname`** tell the host's load, memory, uptime and kernel: memory allocators and `platform` ask for them.
//! - **Timing.** Caches, the scheduler and the disk are shared with everything else on the machine.
//! - **A stopped supervisor keeps no deadline.** Whoever stops it with SIGSTOP stops its clock; cpu time stays bounded by the
//!   rlimit, and the jail dies when the supervisor does.
//! - **A reader that never reads.** The supervisor ends the jail at its deadline, and then waits for the caller to take what was
//!   printed, at most two minutes from one byte to the next. A caller that waits for the exit before it reads a full pipe waits
//!   for itself.
//! - **`uretprobe` and `uprobe`** (x86_64, 335 and 336) are not the filter's to refuse on newer kernels, which hand them past every
//!   filter for their own trampolines. Called from anywhere else, 335 ends the process by SIGILL.
//! - **A signal in the first moments**, before the supervisor has taken over signals, ends it as any program: nothing ran, nothing is
//!   left, and there is no document.
