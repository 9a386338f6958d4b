//! # Least capability: five questions
//!
//! A run should hold nothing that its one task does not need. Five questions tell whether a jail keeps that; here are the
//! answers for this one. Each names the tests that would fail if the answer became untrue.
//!
//! ## 1. Is each capability scoped to one run, one skill, one object?
//!
//! Yes. The root of a run is a tmpfs made for it and gone with it. What is in it: the pinned Python, read-only; the files of
//! this skill, copied from the bytes that were verified; the files of `--in`; an empty workdir. Secrets are those that this
//! skill's `.skillenv` names, and no other line of the `--secrets` file. Started by root, a run has an outer uid that no other
//! run has at that time, so that per-user accounts of the kernel (pipes, signals, keys) are not shared either.
//!
//! Tests: `tests/inside.rs` (the golden list of readable files, the environment, the ids), `tests/callers.rs` (secrets).
//!
//! ## 2. Can the script leave by changing a path, an endpoint or an id?
//!
//! No. Its input is data that the contract bounds; no path, policy, limit or name of a file in it is read by the
//! supervisor. A path in the script resolves in a root that holds nothing else; there is no `/proc`, and `..` of the root is
//! the root. There is no endpoint: `socket` is refused and the network namespace is empty. With the egress profile there are those that the
//! policy lists: a name is resolved by the supervisor, a connection is dialled to the very address that was judged, and a skill
//! that does not ask for it has none of this whatever the policy says. Ids that the caller hands over
//! (`--session`, `--robot`) are opaque text in two environment variables.
//!
//! Tests: `tests/inside.rs` (the tree from inside), `tests/layers.rs` (each wall alone, with its control),
//! `tests/status.rs` (input that is refused), `tests/skill/main.rs` (`read` and its refusals), `tests/egress.rs` (the questions of SSRF).
//!
//! ## 3. Are signals and artifacts parsed by the runtime, rather than by handing out a token?
//!
//! Yes. The script never holds a descriptor or a credential of anything outside, nor, without the egress profile, an address; with it
//! its sockets end in the jail's own namespace, and the supervisor's are its own: its stdin is a pipe, its stdout
//! and stderr are pipes that the supervisor reads and bounds, and artifacts are regular files that the supervisor copies
//! out of the workdir through a descriptor after every process of the jail is dead. The result document is written by the
//! supervisor on a descriptor that the jail never has; a document that a script prints is just its output.
//!
//! Tests: `tests/inside.rs` (descriptors), `tests/status.rs` (a forged document), `tests/callers.rs` and the unit tests of
//! `src/supervisor/collect.rs` (links, devices, sparse files, names).
//!
//! ## 4. Can credentials or temporary files reach the conversation, a log, an artifact or a later run?
//!
//! The program never writes a secret's value: not to a result, a log, an error or a plan. They are read after clone, go
//! through a pipe to the payload's process alone, and are in no memory of init. The workdir and `/tmp` are one tmpfs of the
//! run. What the script itself prints or writes to `/workdir/out` is its own doing: a script that is given a secret can print
//! it, and no jail can tell a secret from a number. Give a script only the secrets that it may tell its caller.
//!
//! Tests: `tests/callers.rs` (secrets in no output), `tests/skill/main.rs` (`.skillenv` is invisible, with a control that
//! leaks), `tests/soak.rs` (nothing is left after ten thousand runs).
//!
//! ## 5. Does each missing or failed capability refuse instead of degrading?
//!
//! Yes. Every step of set-up that fails ends the run before anything of the script has run: status `setup_failed`, exit code
//! 125, the layer, the step and the kernel's answer named. `Sealed`, the value without which nothing can be executed, exists
//! only after the last layer. Four facts are only reported, because no wall rests on them: whether nested user namespaces
//! could also be forbidden by sysctl, whether the session keyring could be replaced (the filter refuses both), which newer
//! Landlock rights this kernel lacks above the policy's floor, and whether a cgroup was handed over where the policy says
//! `optional`.
//!
//! Tests: `tests/status.rs` (set-up failures of several kinds), `tests/doctor.rs` (hosts made poorer for real),
//! `tests/vm.rs` (an older kernel's Landlock, `strict` refused).
