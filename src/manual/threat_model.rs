//! # Threat model
//!
//! **Who attacks.** The author of a skill's script, or whoever can make it do their will through its input. They have read
//! this program's source, know the kernel's version, and may run any Python and any shared library that is in the pinned tree.
//!
//! **What they must not get.** Any file of the host beside the skill's own and the pinned Python; any process, socket, key,
//! shared memory or descriptor of the host; any address but, with the egress profile, those that the policy lets it reach; more memory, time, files, threads or output than the policy says;
//! a word in the result document; a trace in a later run, and a way to talk to a neighbouring one by what both can see.
//!
//! **What is trusted.** The kernel; the host's root; the user who calls; the pinned tree (its digest says which); this
//! program. The contract's review (`check`) is an aid to people, and no wall rests on it.
//!
//! **What is out of scope.** A flaw in the kernel behind a call that the filter must allow; side channels of the processor;
//! how fast a neighbour runs on the same core; what a script tells its caller; denial of service by a caller
//! against itself. A host where somebody else can write the pinned tree, the skill or the policy while they are read.
//!
//! **Two processes of ours face the script.** Init (PID 1 inside) has no secret, no listener, a filter that knows little more than
//! `wait4`, and cannot be traced. The supervisor, outside, reads three streams of bytes from the jail: stdout and stderr, which it
//! only bounds and copies, and notifications, which the kernel writes. It answers every notification with EPERM, never lets a call
//! continue, and reads no memory of the script. With the egress profile it also reads what the script sends to the jail's own resolver and
//! the first bytes of a TLS connection, in two parsers that are fuzzed, and carries the rest unread ([what that opens](super::egress)).
