//! Seeded programs of system calls, run in the jail by many threads. It has no oracle of its own: a finding is a canary
//! that was touched, a supervisor that did not end well, or something left behind.
//!
//! ```text
//! seed, batch number -> grammar -> Program          on the host; the same seed makes the same programs
//!  -> stdin of `skilljail exec … fuzz-inside`       the interpreter is this very binary, in the jail
//!  -> counts by call and errno, on stdout           inside
//!  -> canaries, document, residue                   hunt; a finding is minimised and written as a case
//! ```

pub mod grammar;
pub mod hunt;
pub mod inside;
pub mod minimise;
pub mod program;
