//! One poll loop over everything that a run can do: pidfd, deadline, channel, stdin, stdout, stderr, notifications,
//! cancellation. It never waits for end of file, and never blocks on the payload.

use super::channel::{self, Message};
use super::cpu::CpuClock;
use super::feed::Feed;
use super::outcome::{End, KillReason, Outcome};
use super::prepare::{Bounds, Ours, Secrets};
use super::streams::Stream;
use super::warm::{self, Warm};
use crate::egress::{self, Broker};
use crate::layer::{ApplyError, Facts, NetFacts};
use crate::notify::{self, Heard, denials::Denials};
use crate::sys::seccomp::NotifSizes;
use crate::sys::{fd, madvise, pidfd, signal, wait};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Set-up takes milliseconds; a host on which it takes this long is broken.
const SETUP_LIMIT: Duration = Duration::from_secs(20);
/// How long the kernel is given to take down a killed namespace before we go on without its usage.
const TEARDOWN_LIMIT: Duration = Duration::from_secs(5);

/// After so long without an event the payload is one that works or waits for a while, and our code need not stay in memory.
const QUIET: Duration = Duration::from_millis(100);

/// How long init is given to reap a killed payload before it is killed too.
const REAPING_LIMIT: Duration = Duration::from_secs(1);

/// A running jail.
#[derive(Debug)]
pub struct Jail {
    pid: i32,
    pidfd: OwnedFd,
    channel: OwnedFd,
    cancel: OwnedFd,
    feed: Feed,
    warm: Option<Warm>,
    stream: bool,
    // Its number in the mounted /proc.
    payload_in_proc: Option<i32>,
    secrets: Option<OwnedFd>,
    stdout: Stream,
    stderr: Stream,
    listener: Option<(NotifSizes, OwnedFd)>,
    payload: Option<OwnedFd>,
    // What the payload said: its filter is in force, and the number of its listener.
    sealed: Option<Listener>,
    workdir: Option<OwnedFd>,
    facts: Option<Facts>,
    denials: Denials,
    // What will serve the jail's sockets, until they come; then what does.
    egress: Option<egress::Prepared>,
    broker: Option<Broker>,
    wall: Duration,
    cpu: Duration,
    cpu_clock: Option<CpuClock>,
    started: Instant,
    timings: Vec<(&'static str, Duration)>,
    running: Option<Instant>,
    // Whether our code was let go of since the payload runs.
    quiet: Cell<bool>,
    end: Option<End>,
    finished: Option<Instant>,
    #[cfg(feature = "lab")]
    let_through: bool,
}

/// The number of the payload's listener, if its filter has one.
#[derive(Debug, Clone, Copy)]
struct Listener(Option<i32>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Pidfd,
    Channel,
    Cancel,
    Stdout,
    Stderr,
    Stdin,
    Relay,
    Input,
    Listener,
    Egress,
}

/// poll(2); how many are ready, none also after a signal.
fn wait_for(fds: &mut [PollFd<'_>], left: Duration) -> io::Result<i32> {
    // Rounded up, so that the loop does not spin in the last millisecond.
    let up = u128::from(!left.is_zero());
    let millis = i32::try_from(left.as_millis().saturating_add(up)).unwrap_or(i32::MAX);
    match poll(fds, PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX)) {
        Err(nix::Error::EINTR) => Ok(0),
        other => Ok(other?),
    }
}

impl Jail {
    /// Takes over the child that was just cloned.
    pub fn new(
        pid: i32,
        pidfd: OwnedFd,
        ours: Ours,
        cancel: OwnedFd,
        bounds: &Bounds,
        started: Instant,
    ) -> Self {
        Self {
            pid,
            pidfd,
            channel: ours.channel,
            cancel,
            feed: Feed::new(ours.stdin, ours.input),
            warm: None,
            stream: false,
            payload_in_proc: None,
            secrets: ours.secrets,
            stdout: Stream::whole(ours.stdout, bounds.stdout),
            stderr: Stream::tail(ours.stderr, bounds.stderr, bounds.stderr_kept),
            listener: None,
            payload: None,
            sealed: None,
            workdir: None,
            facts: None,
            denials: Denials::new(bounds.denials_kept, bounds.denials),
            egress: ours.egress,
            broker: None,
            wall: bounds.wall,
            cpu: bounds.cpu,
            cpu_clock: None,
            started,
            timings: Vec::new(),
            running: None,
            quiet: Cell::new(false),
            end: None,
            finished: None,
            #[cfg(feature = "lab")]
            let_through: false,
        }
    }

    /// Denied calls run, and are written down.
    #[cfg(feature = "lab")]
    pub fn let_through(&mut self) {
        self.let_through = true;
    }

    /// Steps of the start that are behind us.
    pub fn took(&mut self, steps: &[(&'static str, Duration)]) {
        self.timings.extend_from_slice(steps);
    }

    /// The supervisor's end of the channel.
    pub fn channel(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }

    /// Gives up before the watch began.
    pub fn fail(&mut self, error: ApplyError) {
        self.end_with(End::SetupFailed {
            layer: error.layer.to_owned(),
            step: error.step.to_owned(),
            errno: error.errno,
        });
    }

    fn end_with(&mut self, end: End) {
        if self.end.is_none() {
            self.end = Some(end);
            self.finished = Some(Instant::now());
        }
    }

    fn broken(&mut self, step: &'static str, error: &io::Error) {
        self.fail(ApplyError { layer: "supervisor", step, errno: crate::sys::errno(error) });
    }

    /// stdout is passed on as it comes.
    pub fn stream(&mut self) {
        self.stream = true;
    }

    /// The input comes when the script waits for it.
    pub fn start_ahead(&mut self, caller: &warm::Caller<'_>) -> io::Result<()> {
        let pipe = self.feed.held().ok_or(io::ErrorKind::NotConnected)?;
        self.warm = Some(Warm::new(caller, pipe)?);
        Ok(())
    }

    /// Runs until there is an end.
    pub fn watch(&mut self, secrets: &mut Option<Secrets<'_>>, caller: &mut Option<warm::Caller<'_>>) {
        while self.end.is_none() {
            match self.wait() {
                Ok(ready) => {
                    for source in ready {
                        if let Err(error) = self.handle(source, secrets) {
                            self.broken("watch", &error);
                        }
                    }
                    if let Some(Err(error)) = self.broker.as_mut().map(Broker::turn) {
                        self.broken("serve the jail's connections", &error);
                    }
                    self.check_bounds();
                    if let Some(caller) = caller {
                        self.step_warm(caller);
                    }
                }
                Err(error) => self.broken("poll", &error),
            }
        }
    }

    fn deadline(&self) -> Instant {
        let Some(exec) = self.running else { return self.started + SETUP_LIMIT };
        match &self.warm {
            Some(warm) => warm.given.map_or_else(|| warm.deadline(exec), |given| given + self.wall),
            None => exec + self.wall,
        }
    }

    /// When the run's own time began.
    fn began(&self) -> Option<Instant> {
        self.warm.as_ref().map_or(self.running, |warm| warm.given)
    }

    fn step_warm(&mut self, caller: &mut warm::Caller<'_>) {
        let (Some(warm), None, Some(exec)) = (&mut self.warm, &self.end, self.running) else { return };
        match warm.take_input() {
            warm::Input::NotYet => {}
            warm::Input::Nothing => return self.end_with(End::Killed(KillReason::Abandoned)),
            warm::Input::Whole(bytes) => {
                if let Err(why) = (caller.check)(&bytes) {
                    return self.end_with(End::InputRejected(why));
                }
            }
        }
        let setup = exec.saturating_duration_since(self.started);
        if let Some(ready) = self.payload_in_proc.and_then(|pid| warm.look(pid, setup, exec))
            && let Err(error) = (caller.tell)(&ready)
        {
            return self.broken("tell that it is ready", &error);
        }
        if let Some(bytes) = warm.give() {
            if let Some(clock) = &mut self.cpu_clock {
                clock.restart();
            }
            if let Err(error) = self.feed.give(bytes) {
                self.broken("write the input", &error);
            }
        }
    }

    fn wait(&self) -> io::Result<Vec<Source>> {
        let mut sources = vec![
            (Source::Pidfd, self.pidfd.as_fd(), PollFlags::POLLIN),
            (Source::Channel, self.channel.as_fd(), PollFlags::POLLIN),
            (Source::Cancel, self.cancel.as_fd(), PollFlags::POLLIN),
        ];
        let optional = [
            (Source::Stdout, self.stdout.pipe()),
            (Source::Stderr, self.stderr.pipe()),
            (Source::Listener, self.listener.as_ref().map(|(_, fd)| fd)),
        ];
        sources.extend(
            optional.iter().filter_map(|(source, fd)| Some((*source, (*fd)?.as_fd(), PollFlags::POLLIN))),
        );
        if let Some(pipe) = self.feed.wants_to_write() {
            sources.push((Source::Stdin, pipe, PollFlags::POLLOUT));
        }
        if let Some(broker) = &self.broker {
            sources.push((Source::Egress, broker.fd(), PollFlags::POLLIN));
        }
        let own_stdin = io::stdin();
        if self.warm.as_ref().is_some_and(Warm::wants_to_read) {
            sources.push((Source::Input, own_stdin.as_fd(), PollFlags::POLLIN));
        }
        if self.feed.wants_to_read() {
            sources.push((Source::Relay, own_stdin.as_fd(), PollFlags::POLLIN));
        }
        let left = self.deadline().saturating_duration_since(Instant::now());
        let left = self.cpu_clock.as_ref().map_or(left, |clock| clock.next_look().min(left));
        let look = self.warm.as_ref().filter(|_| self.running.is_some()).and_then(Warm::next_look);
        let left = look.map_or(left, |look| look.min(left));
        let patience = self.broker.as_ref().and_then(Broker::patience);
        let left = patience.map_or(left, |patience| patience.min(left));
        let mut fds: Vec<PollFd<'_>> =
            sources.iter().map(|(_, fd, flags)| PollFd::new(*fd, *flags)).collect();
        let first = if self.running.is_some() && !self.quiet.get() { left.min(QUIET) } else { left };
        if wait_for(&mut fds, first)? == 0 && first < left {
            self.quiet.set(true);
            madvise::let_go_of_code();
            wait_for(&mut fds, left.saturating_sub(first))?;
        }
        let ready = |fd: &PollFd<'_>| fd.revents().is_some_and(|events| !events.is_empty());
        Ok(sources.iter().zip(&fds).filter(|(_, fd)| ready(fd)).map(|((source, _, _), _)| *source).collect())
    }

    fn handle(&mut self, source: Source, secrets: &mut Option<Secrets<'_>>) -> io::Result<()> {
        if self.end.is_some() {
            return Ok(());
        }
        match source {
            Source::Channel => self.on_channel(secrets),
            Source::Pidfd => {
                // What init said before it left comes first.
                while self.end.is_none() && self.listen(secrets)? {}
                let signal = self.running.is_some().then_some(None);
                if self.end.is_none() {
                    match signal {
                        Some(signal) => self.end_with(End::InitDied(signal)),
                        None => self.broken(
                            "the child ended during set-up",
                            &io::Error::from_raw_os_error(libc::ECHILD),
                        ),
                    }
                }
                Ok(())
            }
            Source::Cancel => {
                if let Some(signal) = signal::next(self.cancel.as_raw_fd())? {
                    self.end_with(End::Killed(KillReason::Cancelled(signal)));
                }
                Ok(())
            }
            Source::Stdout => {
                self.stdout.read_available()?;
                if self.stream {
                    self.stdout.pass_on(io::stdout().as_fd());
                }
                Ok(())
            }
            Source::Stderr => self.stderr.read_available(),
            Source::Stdin => self.feed.write(),
            Source::Relay => self.feed.relay(),
            Source::Input => self.warm.as_mut().map_or(Ok(()), Warm::read),
            Source::Listener => self.on_listener(),
            // In `watch`, whether there was an event or not.
            Source::Egress => Ok(()),
        }
    }

    fn check_bounds(&mut self) {
        if self.stdout.over() {
            self.end_with(End::Killed(KillReason::Stdout));
        }
        if self.stderr.over() {
            self.end_with(End::Killed(KillReason::Stderr));
        }
        if self.denials.exceeded() {
            self.end_with(End::Killed(KillReason::Denials));
        }
        if self.cpu_clock.as_mut().is_some_and(CpuClock::is_used_up) {
            self.end_with(End::Killed(KillReason::Cpu));
        }
        if self.end.is_none() && Instant::now() >= self.deadline() {
            if self.running.is_some() {
                let ahead = self.warm.as_ref().filter(|warm| warm.given.is_none());
                let why = ahead.map_or(KillReason::Timeout, |warm| {
                    if warm.is_ready() { KillReason::Idle } else { KillReason::Unready }
                });
                self.end_with(End::Killed(why));
            } else {
                self.broken("set-up took too long", &io::Error::from_raw_os_error(libc::ETIMEDOUT));
            }
        }
    }

    fn on_channel(&mut self, secrets: &mut Option<Secrets<'_>>) -> io::Result<()> {
        self.listen(secrets).map(drop)
    }

    /// Takes one message if there is one; `false` when there is none.
    fn listen(&mut self, secrets: &mut Option<Secrets<'_>>) -> io::Result<bool> {
        let mut fds = [PollFd::new(self.channel.as_fd(), PollFlags::POLLIN)];
        if poll(&mut fds, PollTimeout::ZERO)? == 0 {
            return Ok(false);
        }
        let Some(message) = channel::receive(self.channel.as_fd())? else {
            // Both of the child's ends are closed; the pidfd says the rest.
            let mut init = [PollFd::new(self.pidfd.as_fd(), PollFlags::POLLIN)];
            poll(&mut init, PollTimeout::from(100u8))?;
            return Ok(false);
        };
        match message {
            Message::Failed { layer, step, errno } => self.end_with(End::SetupFailed { layer, step, errno }),
            Message::Ended(ended) => self.end_with(End::Ended(ended)),
            Message::Born { payload, workdir, facts } => {
                self.payload = Some(payload);
                self.workdir = Some(workdir);
                self.facts = Some(facts);
                self.hand_over_secrets(secrets)?;
                self.start_when_ready();
            }
            Message::Net(sockets, facts) => self.serve(sockets, facts)?,
            Message::Sealed(number) => {
                self.sealed = Some(Listener(number));
                self.start_when_ready();
            }
        }
        Ok(true)
    }

    fn serve(&mut self, mut sockets: Vec<OwnedFd>, facts: NetFacts) -> io::Result<()> {
        let malformed = || io::Error::from_raw_os_error(libc::EPROTO);
        let prepared = self.egress.take().ok_or_else(malformed)?;
        if sockets.len() < 2 + usize::from(facts.tap) {
            return Err(malformed());
        }
        let tap = if facts.tap { sockets.pop() } else { None };
        let listeners = sockets.split_off(2);
        let [datagrams, queries] = <[OwnedFd; 2]>::try_from(sockets).map_err(|_| malformed())?;
        let sockets = egress::Sockets { datagrams, queries, tap, listeners, v6: facts.v6 };
        self.broker = Some(Broker::new(prepared, sockets)?);
        Ok(())
    }

    // Read only now, when the process that will be init is made and can never have held them.
    fn hand_over_secrets(&mut self, secrets: &mut Option<Secrets<'_>>) -> io::Result<()> {
        if let (Some(pipe), Some(mut read)) = (self.secrets.take(), secrets.take()) {
            match read() {
                // At most a pipe's capacity, so this does not wait.
                Ok(bytes) => {
                    fd::write(pipe.as_raw_fd(), &bytes)?;
                }
                Err(why) => self.end_with(End::SecretsRefused(why)),
            }
        }
        Ok(())
    }

    /// Starts the run when both processes have spoken: init, that the payload exists, and the payload, that its filter is
    /// in force. They share the channel and run at the same time, so either may be first.
    fn start_when_ready(&mut self) {
        let (Some(payload), Some(Listener(number))) = (&self.payload, self.sealed) else { return };
        if let Some(number) = number {
            let taken = pidfd::getfd(payload.as_fd(), number)
                .and_then(|listener| Ok((NotifSizes::probe()?, listener)));
            match taken {
                Ok(listener) => self.listener = Some(listener),
                Err(error) => return self.broken("pidfd_getfd (notification listener)", &error),
            }
        }
        match CpuClock::of(payload.as_fd(), self.cpu) {
            Ok(clock) => self.cpu_clock = Some(clock),
            Err(error) => return self.broken("clock_getcpuclockid (payload)", &error),
        }
        if self.warm.is_some() {
            match super::pid_in_proc(payload) {
                Ok(pid) => self.payload_in_proc = Some(pid),
                Err(error) => return self.broken("the payload's pid in /proc", &error),
            }
        }
        let now = Instant::now();
        self.running = Some(now);
        let known: Duration = self.timings.iter().map(|(_, took)| *took).sum();
        let layers: Vec<_> = self.facts.unwrap_or_default().took.named().collect();
        self.took(&layers);
        // Init's fork, the filter, the hand-over, and all the waking up in between.
        let ours: Duration = layers.iter().map(|(_, took)| *took).sum();
        let rest = now.saturating_duration_since(self.started).saturating_sub(known).saturating_sub(ours);
        self.took(&[("init, filter, hand-over", rest)]);
        if let Err(error) = channel::send_go(self.channel.as_fd()) {
            self.broken("send go", &error);
        }
        // The payload is on its way, and we only wait.
        madvise::let_go_of_code();
    }

    fn on_listener(&mut self) -> io::Result<()> {
        let Some((sizes, listener)) = &self.listener else { return Ok(()) };
        #[cfg(feature = "lab")]
        let answer = if self.let_through { notify::let_through } else { notify::answer };
        #[cfg(not(feature = "lab"))]
        let answer = notify::answer;
        if answer(*sizes, listener.as_fd(), &mut self.denials)? == Heard::NobodyLeft {
            self.listener = None;
        }
        Ok(())
    }

    /// Kills what is left, waits for the kernel to take it down, reads what is still in the pipes.
    pub fn end(mut self) -> Outcome {
        let mut init = [PollFd::new(self.pidfd.as_fd(), PollFlags::POLLIN)];
        if let Some(payload) = &self.payload {
            // The payload first: init reaps it and leaves by itself. What dies with a namespace nobody reaps, and its
            // usage would be lost. ESRCH counts as done; nothing else can fail on our own descendants.
            drop(pidfd::kill(payload.as_fd()));
            // When that fails or takes too long, init is killed next all the same.
            let _ = poll(&mut init, PollTimeout::try_from(REAPING_LIMIT).unwrap_or(PollTimeout::ZERO));
        }
        drop(pidfd::kill(self.pidfd.as_fd()));
        let limit = PollTimeout::try_from(TEARDOWN_LIMIT).unwrap_or(PollTimeout::MAX);
        let gone = poll(&mut init, limit).is_ok_and(|count| count > 0);
        let used = if gone { wait::wait4(self.pid).ok().map(|(_, ended)| ended) } else { None };
        if let (Some(End::InitDied(signal)), Some(ended)) = (&mut self.end, used) {
            *signal = ended.signal();
        }
        // All writers are dead, so what is there is all there will be.
        for stream in [&mut self.stdout, &mut self.stderr] {
            drop(stream.read_available());
        }
        if matches!(self.end, Some(End::Ended(_))) {
            if self.stdout.over() {
                self.end = Some(End::Killed(KillReason::Stdout));
            } else if self.stderr.over() {
                self.end = Some(End::Killed(KillReason::Stderr));
            }
        }
        if let (Some(End::Ended(_)), Some(broker)) = (&self.end, &mut self.broker) {
            broker.drain();
        }
        let egress = self.broker.take().map(Broker::finish).unwrap_or_default();
        let finished = self.finished.unwrap_or_else(Instant::now);
        let began = self.began();
        let end = self.end.unwrap_or(End::InitDied(None));
        Outcome {
            timings: self.timings,
            warm: self.warm.as_ref().map(|warm| warm.facts(finished)),
            end,
            stdout_passed_on: self.stdout.passed_on(),
            stdout_bytes: self.stdout.total(),
            stdout: self.stdout.into_bytes(),
            stderr_bytes: self.stderr.total(),
            stderr: self.stderr.into_bytes(),
            wall: began.map_or(Duration::ZERO, |start| finished.saturating_duration_since(start)),
            wall_limit: self.wall,
            setup: self.running.unwrap_or(finished).saturating_duration_since(self.started),
            used,
            facts: self.facts,
            denials: self.denials,
            egress,
            workdir: self.workdir,
            cgroup: None,
        }
    }
}
