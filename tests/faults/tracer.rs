//! A run stopped at each of its system calls by ptrace(2), to fail, or to be the last of its process, at exactly one of them.

use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::fs::File;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

/// Longer than any run may take, shorter than the run's own deadline: a run that hangs is a fault.
const PATIENCE: Duration = Duration::from_secs(20);

/// PTRACE_EVENT_EXEC and PTRACE_EVENT_STOP of ptrace(2).
const EVENT_EXEC: i32 = libc::PTRACE_EVENT_EXEC;

/// Which process of a run: in the order in which they are born.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Role {
    Supervisor,
    Init,
    Payload,
}

/// One system call of a run: the `nth` of this number (and of this first argument, for calls that mean several things) that
/// this process makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Point {
    pub(crate) role: Role,
    pub(crate) call: i64,
    /// The first argument where the call has many meanings, else 0.
    pub(crate) meaning: u64,
    pub(crate) nth: usize,
}

/// What happens at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The kernel never sees the call; its caller gets this errno.
    Fails(Errno),
    /// The call is made, and its caller gets this errno: close(2) frees the descriptor whatever it says.
    Lies(Errno),
    /// SIGKILL before the call.
    Dies,
}

impl Fault {
    /// What the caller is told, if it lives to hear it.
    pub(crate) fn errno(self) -> Option<Errno> {
        match self {
            Self::Fails(errno) | Self::Lies(errno) => Some(errno),
            Self::Dies => None,
        }
    }
}

/// What a traced run did.
#[derive(Debug)]
pub(crate) struct Run {
    /// Each call in its order, up to the payload's own program.
    pub(crate) points: Vec<Point>,
    /// The payload's program started.
    pub(crate) ran: bool,
    /// The walls around it when it did, in the kernel's words.
    pub(crate) walls: String,
    /// The number of `points` when it did.
    pub(crate) before: usize,
    /// The point was reached.
    pub(crate) reached: bool,
    /// The exit code, or none where the supervisor was killed.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Calls whose first argument says what they are.
const MEANINGS: [i64; 3] = [libc::SYS_prctl, libc::SYS_seccomp, libc::SYS_keyctl];

struct Tracee {
    role: Role,
    seen: HashMap<(i64, u64), usize>,
    /// What its current call gets for an answer.
    answer: Option<Errno>,
    /// The payload's own program: its calls are its own affair.
    free: bool,
}

impl Tracee {
    fn new(role: Role) -> Self {
        Self { role, seen: HashMap::new(), answer: None, free: false }
    }
}

/// Runs `command` with `input`, with a fault at one point if one is given. The thread that calls this is the tracer.
pub(crate) fn run(command: &Command, input: &[u8], fault: Option<(Point, Fault)>) -> Run {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| scratch.path().join(name);
    std::fs::write(path("in"), input).expect("a file can be written");
    let open = |name| File::create(path(name)).expect("a file can be made");
    let mut shell = stopped(command);
    shell.stdin(File::open(path("in")).expect("it was written")).stdout(open("out")).stderr(open("err"));
    let mut child = shell.spawn().expect("the shell starts");
    let supervisor = Pid::from_raw(i32::try_from(child.id()).expect("a pid fits"));
    let (done, watched) = mpsc::channel();
    let watchdog = std::thread::spawn(move || {
        let late = watched.recv_timeout(PATIENCE).is_err();
        if late {
            let _ = kill(supervisor, Signal::SIGKILL);
        }
        late
    });
    let mut run = follow(supervisor, fault);
    let _ = done.send(());
    assert!(!watchdog.join().expect("it does not panic"), "it hangs: {fault:?}");
    // Reaped already by the tracer: nothing is left to wait for.
    let _ = child.try_wait();
    let read = |name| String::from_utf8_lossy(&std::fs::read(path(name)).expect("it is there")).into_owned();
    (run.stdout, run.stderr) = (read("out"), read("err"));
    run
}

/// The same command behind a shell that stops itself, so that the tracer is there before its first call.
fn stopped(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "kill -STOP $$; exec \"$@\"", "sh"])
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    shell
}

fn follow(supervisor: Pid, fault: Option<(Point, Fault)>) -> Run {
    waitpid(supervisor, Some(WaitPidFlag::WUNTRACED)).expect("the shell stops itself");
    let options = ptrace::Options::PTRACE_O_TRACESYSGOOD
        | ptrace::Options::PTRACE_O_TRACEEXEC
        | ptrace::Options::PTRACE_O_TRACECLONE
        | ptrace::Options::PTRACE_O_TRACEFORK
        | ptrace::Options::PTRACE_O_TRACEVFORK
        | ptrace::Options::PTRACE_O_EXITKILL;
    ptrace::seize(supervisor, options).expect("one may trace one's child");
    kill(supervisor, Signal::SIGCONT).expect("it is there");

    let mut run = Run {
        points: Vec::new(),
        ran: false,
        walls: String::new(),
        before: 0,
        reached: false,
        code: None,
        stdout: String::new(),
        stderr: String::new(),
    };
    let mut tracees: HashMap<Pid, Tracee> = HashMap::new();
    let mut begun = false;
    loop {
        // Only what this thread traces: others are at work beside it.
        let status = match waitpid(None, Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD)) {
            Ok(status) => status,
            Err(Errno::ECHILD) => return run,
            Err(Errno::EINTR) => continue,
            Err(error) => panic!("waitpid: {error}"),
        };
        let Some(pid) = status.pid() else { continue };
        let (mut signal, mut free) = (None, false);
        match status {
            WaitStatus::Exited(pid, code) if pid == supervisor => run.code = Some(code),
            WaitStatus::PtraceEvent(_, _, EVENT_EXEC) if pid == supervisor => begun = true,
            WaitStatus::PtraceEvent(_, _, EVENT_EXEC) => {
                let tracee = tracees.get_mut(&pid).expect("it was seen before");
                (tracee.free, free) = (true, true);
                (run.ran, run.before, run.walls) = (true, run.points.len(), walls(pid));
            }
            WaitStatus::Stopped(_, its) => signal = Some(its),
            WaitStatus::PtraceSyscall(_) if begun => {
                let born = tracees.len();
                let tracee = tracees.entry(pid).or_insert_with(|| Tracee::new(ROLES[born.min(2)]));
                free = tracee.free;
                if at_call(pid, tracee, &mut run, fault) == Some(Fault::Dies) {
                    let _ = kill(pid, Signal::SIGKILL);
                }
            }
            _ => {}
        }
        // One that was killed meanwhile is no longer there to go on; its end is told by the next wait.
        let _ = if free { ptrace::cont(pid, signal) } else { ptrace::syscall(pid, signal) };
    }
}

const ROLES: [Role; 3] = [Role::Supervisor, Role::Init, Role::Payload];

/// A stop before or after a call: notes the call, and does there what is asked for.
fn at_call(pid: Pid, tracee: &mut Tracee, run: &mut Run, fault: Option<(Point, Fault)>) -> Option<Fault> {
    let Ok(mut registers) = ptrace::getregs(pid) else { return None };
    let Ok(info) = ptrace::syscall_info(pid) else { return None };
    if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        if let Some(errno) = tracee.answer.take() {
            registers.rax = (-i64::from(errno as i32)).cast_unsigned();
            let _ = ptrace::setregs(pid, registers);
        }
        return None;
    }
    let call = registers.orig_rax.cast_signed();
    let meaning = if MEANINGS.contains(&call) { registers.rdi } else { 0 };
    let count = tracee.seen.entry((call, meaning)).or_default();
    let point = Point { role: tracee.role, call, meaning, nth: *count };
    *count += 1;
    run.points.push(point);
    let (_, fault) = fault.filter(|(wanted, _)| *wanted == point)?;
    run.reached = true;
    match fault {
        Fault::Fails(errno) => {
            undo(pid, &mut registers);
            let _ = ptrace::setregs(pid, registers);
            tracee.answer = Some(errno);
        }
        Fault::Lies(errno) => tracee.answer = Some(errno),
        Fault::Dies => {}
    }
    Some(fault)
}

/// Makes of a call one that does nothing. A process under a filter of ours may not make one without a number: init waits for
/// nobody and writes to no descriptor, and the payload may ask who it is.
fn undo(pid: Pid, registers: &mut libc::user_regs_struct) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    match registers.orig_rax.cast_signed() {
        _ if !status.contains("Seccomp:\t2") => registers.orig_rax = u64::MAX,
        libc::SYS_wait4 => (registers.rdi, registers.rdx) = (i64::from(i32::MIN).cast_unsigned(), u64::MAX),
        libc::SYS_write => registers.rdi = u64::MAX,
        _ => registers.orig_rax = libc::SYS_getpid.cast_unsigned(),
    }
}

/// What /proc says of a process: who it is, what it may, its mounts without the numbers that change, its limits.
fn walls(pid: Pid) -> String {
    let file = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let wanted = ["Uid", "Gid", "Groups", "Cap", "NoNewPrivs", "Seccomp", "SigBlk", "SigIgn", "Umask"];
    let status: Vec<_> = file("status")
        .lines()
        .filter(|line| wanted.iter().any(|word| line.starts_with(word)))
        .map(str::to_owned)
        .collect();
    let mounts: Vec<_> =
        file("mountinfo").lines().map(|line| line.split(' ').skip(3).collect::<Vec<_>>().join(" ")).collect();
    let all = format!("{}\n{}\n{}", status.join("\n"), mounts.join("\n"), file("limits"));
    // Root gives each run an identity of its own.
    let identity = status
        .iter()
        .find_map(|line| line.strip_prefix("Uid:"))
        .and_then(|ids| ids.split_whitespace().next())
        .unwrap_or("?");
    all.replace(identity, "IDENTITY")
}
