//! One poll loop over everything that a run can do: pidfd, deadline, channel, stdin, stdout, stderr, notifications,
//! cancellation. It never waits for end of file, and never blocks on the payload.

mod end;
mod messages;
mod wait;

use super::cpu::CpuClock;
use super::feed::Feed;
use super::outcome::{End, KillReason};
use super::prepare::{Bounds, Ours, Secrets};
use super::streams::Stream;
use super::warm::{self, Warm};
use crate::egress::{self, Broker};
use crate::layer::{ApplyError, Facts};
use crate::notify::{self, Heard, denials::Denials};
use crate::sys::seccomp::NotifSizes;
use crate::sys::signal;
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};
use wait::Source;

/// Set-up takes milliseconds; a host on which it takes this long is broken.
const SETUP_LIMIT: Duration = Duration::from_secs(20);
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
    init_sealed: bool,
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
            init_sealed: false,
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

    /// Gives up: before the payload was let go nothing ran, and after it a run is lost.
    fn broken(&mut self, step: &'static str, error: &io::Error) {
        let errno = crate::sys::errno(error);
        match self.running {
            None => self.fail(ApplyError { layer: "supervisor", step, errno }),
            Some(_) => self.end_with(End::SupervisorFailed { step, errno }),
        }
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
}
