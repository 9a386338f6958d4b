//! # Why each default is what it is
//!
//! The numbers stand in `policies/*.json`, each with its reason, and `run` applies those very values. What is not a number:
//!
//! - **No `/proc`.** Nothing that a skill needs is there; containers refuse to mount it; and `/proc/self/mem` would write to
//!   memory that may not be written.
//! - **No shell, no second program.** Landlock executes the interpreter and its loader only, and the filter one exec only.
//! - **stdin is a pipe.** A regular file handed in read-only can be opened again for writing; a pipe cannot.
//! - **stdout over its limit prints nothing.** Half a document is worse than none.
//! - **`/tmp` is the workdir's.** One size bounds both, and one tmpfs is one thing to go away.
//! - **Denied calls are EPERM and written down; unknown ones ENOSYS.** Programs take ENOSYS for an older kernel and fall back;
//!   EPERM from a call that glibc probes would break them.
//! - **Standard library before the skill's folder on `sys.path`.** A skill's `json.py` is not what `import json` finds.
//! - **RLIMIT_CORE is 1.** 0 does not stop a `core_pattern` that is a pipe.
//! - **Names of artifacts are escaped.** A tool that later walks the folder meets no `.git`, no leading `-`, no control character.
