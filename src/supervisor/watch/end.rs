//! The end: what is left is killed, reaped and read.

use super::Jail;
use crate::egress::Broker;
use crate::supervisor::outcome::{End, KillReason, Outcome};
use crate::sys::{pidfd, wait};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

/// How long the kernel is given to take down a killed namespace before we go on without its usage.
const TEARDOWN_LIMIT: Duration = Duration::from_secs(5);

/// How long init is given to reap a killed payload before it is killed too.
const REAPING_LIMIT: Duration = Duration::from_secs(1);

impl Jail {
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
