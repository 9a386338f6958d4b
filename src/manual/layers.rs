//! # The layers, in the order in which they are applied
//!
//! | layer | what it stops | rests on |
//! |---|---|---|
//! | fds | everything that the caller left open | `close_range(2)` over the whole table |
//! | idmap | being anybody: one id inside, mapped to the caller, or for root to an id of this run's own; outliving the supervisor | `user_namespaces(7)`, `PR_SET_PDEATHSIG`, a pid namespace whose init dies with it |
//! | mounts | the host's files: the root is a tmpfs, read-only once filled, and the old root is gone | `mount_namespaces(7)`, `pivot_root(2)`, flags set before a mount is attached |
//! | net | every address: an empty network namespace, its loopback down (with egress up, with listeners of the supervisor's and no way out); host names and SysV objects | `network_namespaces(7)`, `uts_namespaces(7)`, `ipc_namespaces(7)` |
//! | rlimits | using up memory, time, descriptors, threads, file sizes | `getrlimit(2)`; a cgroup v2 where one is delegated |
//! | privs | anything that asks for a capability | empty sets, `no_new_privs`, locked secure bits |
//! | landlock | what the mounts would allow but nobody needs: execution of anything but the interpreter and its loader, writing outside the workdir, TCP, abstract sockets and signals to others | `landlock(7)` |
//! | seccomp | the kernel's own surface: an allow-list with rules on arguments, no memory that is both written and executed | `seccomp(2)`, one program, proven against a second compiler |
//!
//! Two processes are made after Landlock: init, which applies its own filter, and the payload, which applies the policy's.
//! The payload's process then executes the one descriptor that was checked; its number lies above every number that the
//! final `RLIMIT_NOFILE` can give, and the path that goes with it is an empty string at an address that nothing can be mapped
//! at any more, so that the rule that lets this one exec through fits no second one.
//!
//! Whether a wall holds alone is shown by taking all the others away: `tests/layers.rs`, with the laboratory.
