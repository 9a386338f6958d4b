//! # What a status means, and on whose testimony
//!
//! | status | when | who says so |
//! |---|---|---|
//! | `ok` | the script exited 0 | wait status |
//! | `script_error` | it exited with another code | wait status |
//! | `signaled` | a signal that the jail did not send ended it | wait status |
//! | `timeout` | the wall-clock limit was reached and the jail killed | the supervisor's clock |
//! | `cpu_limit` | its cpu time was used up and the jail killed | the kernel's precise clock of the process, read by the supervisor |
//! | `memory_limit` | the kernel killed in the run's cgroup for want of memory | `memory.events` |
//! | `disk_limit` | it failed, and the workdir was full at the end, or SIGXFSZ, which the filter lets nobody send, ended it | `statfs`, wait status |
//! | `process_limit` | it failed, and the kernel had refused a task in the run's cgroup | `pids.events` |
//! | `output_limit` | more stdout or stderr than the policy allows | the supervisor's count |
//! | `killed_by_policy` | the filter's kill action, or too many denied calls | SIGSYS, which the filter lets nobody send; the supervisor's count |
//! | `input_rejected` | the input, a file of `--in` or a secret was refused before anything ran | |
//! | `skill_rejected` | the package, its contract, its manifest or its runtime kind | |
//! | `policy_rejected` | the policy file | |
//! | `setup_failed` | a layer could not be applied; nothing of the script ran | the kernel's errno |
//! | `supervisor_failed` | the script was let go, and the supervisor could then not go on: the run is lost | the errno of the supervisor's own call |
//! | `cancelled` | the supervisor got SIGINT, SIGTERM or SIGHUP | the supervisor |
//!
//! Without a cgroup only the program sees that memory or threads ran out (ENOMEM, EAGAIN). The status is then the program's
//! own, mostly `script_error`, and `limits[].reached` says `unknown`.
