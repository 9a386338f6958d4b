//! What the child says on the channel: born, both sealed, failed, ended; and the start of the run that follows from it.

use super::{Jail, Listener};
use crate::egress::{self, Broker};
use crate::layer::NetFacts;
use crate::supervisor::channel::{self, Message};
use crate::supervisor::cpu::CpuClock;
use crate::supervisor::outcome::End;
use crate::supervisor::prepare::Secrets;
use crate::sys::seccomp::NotifSizes;
use crate::sys::{fd, madvise, pidfd};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::time::{Duration, Instant};

impl Jail {
    /// Takes one message if there is one; `false` when there is none.
    pub(super) fn listen(&mut self, secrets: &mut Option<Secrets<'_>>) -> io::Result<bool> {
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
            Message::InitSealed => {
                self.init_sealed = true;
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

    /// Starts the run when both processes have spoken: init, that the payload exists and that its own filter is in force,
    /// and the payload, that its filter is. They share the channel and run at the same time, so either may be first.
    fn start_when_ready(&mut self) {
        let (true, Some(payload), Some(Listener(number))) = (self.init_sealed, &self.payload, self.sealed)
        else {
            return;
        };
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
            match crate::supervisor::pid_in_proc(payload) {
                Ok(pid) => self.payload_in_proc = Some(pid),
                Err(error) => return self.broken("the payload's pid in /proc", &error),
            }
        }
        let now = Instant::now();
        let known: Duration = self.timings.iter().map(|(_, took)| *took).sum();
        let layers: Vec<_> = self.facts.unwrap_or_default().took.named().collect();
        self.took(&layers);
        // Init's fork, the filter, the hand-over, and all the waking up in between.
        let ours: Duration = layers.iter().map(|(_, took)| *took).sum();
        let rest = now.saturating_duration_since(self.started).saturating_sub(known).saturating_sub(ours);
        self.took(&[("init, filter, hand-over", rest)]);
        if let Err(error) = channel::send_go(self.channel.as_fd()) {
            return self.broken("send go", &error);
        }
        self.running = Some(now);
        // The payload is on its way, and we only wait.
        madvise::let_go_of_code();
    }
}
