//! What the loop waits for, and for how long.

use super::Jail;
use crate::egress::Broker;
use crate::supervisor::warm::Warm;
use crate::sys::madvise;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

/// After so long without an event the payload is one that works or waits for a while, and our code need not stay in memory.
const QUIET: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
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
    /// What is ready; nothing when time is up.
    pub(super) fn wait(&self) -> io::Result<Vec<Source>> {
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
}
