//! # The battery
//!
//! `skilljail attack` runs the attacks of `tests/attacks`, which are compiled into the binary, on this host, with this policy
//! and this runtime: each in a jail of its own, several at once, beside canaries that it sets out outside. Nothing but what
//! happens to a canary counts: a file whose text came out or which changed (names, modes, owners, times, bytes), a listener
//! that heard something (TCP, UDP, UNIX by path and by abstract name, stream and datagram), a process that died, stopped or
//! is traced, a System V segment that was written, a key that was read, the host's name, an artifact that is no plain file, a run
//! that went on after its deadline, or the *proof*: a word that only the attack's own success prints. After each attack every
//! canary is reached by the harness itself; a dead one makes the attack *unclear*, which fails the battery as an escape does.
//!
//! `tests/probes` is the other half: what honest skills do must work.
//!
//! ## An attack
//!
//! A folder `tests/attacks/CLASS/NAME` with `attack.py`, which begins with `from kit import *`, and `case.json`:
//!
//! | field | what |
//! |---|---|
//! | `tries` | what it tries, in one sentence |
//! | `source` | the advisory, commit, thread or manual page that it comes from |
//! | `wall` | the layer that stops it alone (`fds idmap mounts net rlimits privs landlock seccomp`), or `supervisor` |
//! | `expect` | `{"errno": […]}`, `{"signal": N}`, `{"status": "timeout"}` or `"absent"`: how a contained one ends |
//! | `profiles`, `architecture` | to what it applies; absent: to everything |
//! | `caller` | a line of shell before the program is started: a hostile caller (`$CANARY`, `$SECRET`) |
//! | `timeout` | `--timeout` |
//! | `package` | more files of the skill: `text`, `link`, `hardlink`, `fifo`, `sparse`, `copies`, `socket` |
//! | `pair` | runs twice at once, `CANARY_ROLE` says who sends |
//! | `control` | `still`: walls that stay up; `lacking`: errnos by which a host says that it has not got this part of the kernel |
//!
//! In the script `with attempt(step):` tells a refusal, `reached(…)` prints the proof, `absent(…)` says that there was nothing;
//! `outside(name)` is a file of the canary directory, `target(NAME)` one of the other canaries.
//!
//! ## That the tests can fail
//!
//! `skilljail-lab control` (never installed) runs each attack with all its walls down, in namespaces of the laboratory's own that
//! hold the same canaries: each must reach its canary. What this host's kernel has not got is listed, not counted as shown.
//! `skilljail-lab matrix` sets each attack against each layer, left out and alone; a declared wall that does not hold alone
//! is an error. `make mutants` weakens the product itself, one patch of `tests/mutants` at a time, and `make compare-bubblewrap` runs
//! the same attacks in bubblewrap with a usual command line.
//!
//! Five classes in bubblewrap 0.8 with a usual command line (`tests/comparison/bubblewrap`), as root, beside the same in this jail.
//! Much of the difference is what bubblewrap leaves to its caller by design: a filter, limits, the environment, artifacts.
//!
//! | class | attacks | skilljail contained | bubblewrap contained | not shown |
//! |---|---|---|---|---|
//! | network | 17 | 17 | 8 | 1 |
//! | process | 30 | 30 | 12 | 0 |
//! | kernel-surface | 22 | 22 | 3 | 0 |
//! | artifacts | 11 | 11 | 5 | 0 |
//! | launch | 12 | 12 | 1 | 0 |
//!
//! ## The fuzzer
//!
//! `skilljail fuzz --seconds N --seed S` makes programs of system calls (every call of the table by the names of its parameters,
//! numbers that no kernel has, x32 numbers and `int 0x80`), and runs them by many threads in jail after jail: the interpreter is this
//! very binary. It looks at the same canaries, at the supervisor's end and at what is left; a finding is minimised and written
//! as the folder of an attack. A seed makes the same programs everywhere; which thread comes first is the kernel's.
//!
//! ## Faults
//!
//! `make test-faults` stops a run by ptrace(2) at each of its system calls, in the supervisor, in init and in the payload up to
//! its own program, and makes that one call fail with an errno of its man page, or kills its process there: four ways to start
//! (plain, warm, with a network, with secrets), some eight thousand faults. What may come of one:
//!
//! - nothing of the script has run: a status of a run that was refused, with a cause; nothing is left behind;
//! - the script ran in the very same jail: the same walls by the kernel's word (credentials, mounts, limits, filter) and by the
//!   script's own, the same output. The calls whose failure a run survives are listed with the reason, and no other may;
//! - the run is lost, and says so: `supervisor_failed`, or exit code 3 where a result could not be written.
//!
//! One that fails before `execve` in the payload cannot be told from one after it when SIGKILL is how it ends: `signaled`.
