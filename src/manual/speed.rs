//! What a start consists of, what was done about each part, and jails that are started ahead.
//!
//! `--timings` puts the steps of a start into the result document; `make bench` runs everything beside the bare program,
//! beside other jails, and beside a *floor*: a C program with the same layers in the same order that does nothing else
//! (`tests/benches/floor.c`). Times depend on the machine, ratios much less: README has those.
//!
//! # The steps
//!
//! | step | what the kernel or we do | what was done about it |
//! |---|---|---|
//! | before `main` | exec, the C library's own start | The static executable is linked against musl: glibc executes CPUID some 70 times, static or not, and on a virtual machine each is an exit. Its allocator is replaced: musl's own maps and unmaps pages for every few blocks. |
//! | `policy` | the shipped policy is read from the binary | Filters are compiled and proven when the program is built. Only a file is read a second time as its meaning. |
//! | `skill`, `input`, `runtime` | every file of the skill is read and hashed; the runtime is known by its identity | What is hashed is what is copied in. Of the runtime only the key files are looked at, by one `stat` each. |
//! | `prepare` | descriptors, C strings, BPF bytes | All before clone: the child only calls. |
//! | `clone3` | seven namespaces; half of it is the network's | Nothing: it is the wall. |
//! | `maps` | three files in `/proc/PID` | The child is let go before anything of ours is freed. |
//! | `mounts` | a root of its own, some hundred calls; one wait for RCU when the old root goes | Detached mounts, so that nothing is looked up twice. |
//! | `privs`, `rlimits`, `landlock` | a hundred short calls | Nothing: they are the walls. |
//! | `init, filter, hand-over` | a fork, the filter, the supervisor takes the listener | One filter as a balanced tree instead of a list. |
//! | the end | the payload's pages, the namespaces | The network namespace is taken down by the kernel on its own time; we wait for the processes alone. |
//!
//! # What stands in the way
//!
//! On the machine of README's table, as root, the medians of forty starts of a program that does nothing were: bare 0.49 ms, the floor
//! 2.57, ours 3.33, bubblewrap 4.06. So the layers by themselves, without a policy, a document or a check, add 0.58 of what bubblewrap
//! adds, and no program that has them can add much less. Where ours goes (`--timings`, medians of 150 starts on a busier
//! machine, of 3.3 ms of set-up): the namespaces of `clone3` 1.1 ms, the mounts 0.7, the fork of init with the filter and the
//! hand-over 0.7, everything before clone 0.5, the rest of the layers 0.4. Namespaces are not made ahead and kept: one that served a run
//! before is no wall for the next.
//!
//! # The interpreter
//!
//! Most of a run is Python's own start. The pinned tree has bytecode that is never checked again, no `.pth` files, a fixed
//! `sys.path`, and a start-up module (`src/runtime/build/start_up.py`) that keeps the collector out of the way: a
//! collection for every 700 new objects is a tenth of what imports take, and the collections that end an interpreter find what
//! the process is about to lose in any case. They are left out only where nothing is alive that has something to do at its
//! end, such as a file that buffers; `tests/warm/ends.rs` shows that no byte, no exit code and no finalizer is lost.
//!
//! Tried and left: `-S` (a millisecond, but `exit` and `quit` would be gone), a zip of the standard library (slower: its reader
//! is Python), `os._exit` after a flush (what other files buffer would be lost, and the exit code is not known there).
//!
//! # Started ahead
//!
//! `run --warm SKILL SCRIPT --report FILE|fd:N` does everything that does not depend on the input first: set-up, the interpreter's
//! start, the script's imports. The report says `{"version":1,"ready":true,…}` on a line of its own when the script waits for
//! its input; then the input is read from stdin up to its end of file, judged by the contract, and handed over, and only then
//! do the run's wall clock and processor time begin. The result document follows on the next line, with `warm`: how long it
//! took to be ready, how long it waited, and its memory meanwhile.
//!
//! - *Ready* is the kernel's word: the main thread sleeps in read(2) on descriptor 0, and descriptor 0 is our pipe. Nothing that
//!   the script says or does to itself makes it ready; a script that waits in another way (poll, another thread) is not, and
//!   ends as `timeout` with the id `not_ready` after `--warm-ready` (30 s).
//! - It serves one run and is gone; nothing is shared between runs. What it was started with (skill, script, policy, ids, secrets,
//!   `--in`) it keeps: they were read, hashed and copied before.
//! - `--warm-idle` (10 min) bounds the wait (`timeout`, `idle_limit`). An input that breaks the contract is never handed over
//!   (`input_rejected`). stdin closed without an input, and SIGTERM, cancel it. Before the input it may use as much processor
//!   time as the run itself; that is a budget of its own.
//! - `--stream` passes stdout on as it comes, so that the result is there before the interpreter has taken itself down (which
//!   takes longer than most answers). Until the document says `ok` it is a result of a run that may still fail, and of one that
//!   goes over its limit a part is printed; without `--stream` stdout is printed when the run is over, or not at all.
//! - A script that ends without reading ends the run with its own status, and `warm.served` is false.
//!
//! `tests/warm.rs` shows each of these.
