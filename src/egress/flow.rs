//! One direction of a connection: what is read is written at once; what cannot be written waits, and nothing more is read.

use super::hello;
use nix::fcntl::{OFlag, SpliceFFlags, splice};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;

/// What one direction may carry in its turn, so that none starves the others or the rest of the supervisor.
const TURN: u64 = 1 << 20;
/// From so many bytes on pages are moved instead of copied; below it two more descriptors and calls cost more.
const BULK: u64 = 512 << 10;
/// What the pipe of a bulk flow holds.
const PIPE: usize = 1 << 20;

/// A side that broke.
#[derive(Debug)]
pub(super) struct Broken {
    /// The side that is read from, or the one that is written to.
    pub(super) reading: bool,
    /// How.
    pub(super) error: io::Error,
}

/// Whether a turn ended for want of anything to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    /// An event will tell when there is more.
    Blocked,
    /// The turn is over, there may be more.
    More,
    /// There is more to read, and no byte of the budget left.
    Over,
}

#[derive(Debug)]
struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    holds: usize,
}

/// One direction.
#[derive(Debug, Default)]
pub(super) struct Flow {
    waiting: Vec<u8>,
    // How much of `waiting` is written.
    written: usize,
    bytes: u64,
    ended: bool,
    shut: bool,
    pipe: Option<Pipe>,
}

/// When to stop reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// After a read that did not fill the buffer: of what comes later there will be an event.
    WhatIsThere,
    /// At the end or when there is nothing: an event that told the end may be gone already.
    ToTheEnd,
}

enum Step {
    Blocked,
    Done,
    // Moved, and there is nothing more to read now.
    Last(u64),
    Over,
    Moved(u64),
}

impl Flow {
    /// Bytes that were read and not written.
    pub(super) fn waiting(&self) -> &[u8] {
        self.waiting.get(self.written..).unwrap_or_default()
    }

    /// Takes bytes that were read elsewhere.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// Whether the side that is written to has to take more before anything more is read.
    pub(super) fn is_held_up(&self) -> bool {
        !self.waiting().is_empty() || self.pipe.as_ref().is_some_and(|pipe| pipe.holds > 0)
    }

    /// Bytes that were carried.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the end was passed on.
    pub(super) fn is_done(&self) -> bool {
        self.shut
    }

    /// Carries until nothing can be read or written, or the turn is over. What passes is copied to `seen` while that is
    /// there and not full. Of `left`, the run's budget, goes what is read.
    pub(super) fn carry(
        &mut self,
        from: &TcpStream,
        to: &TcpStream,
        buffer: &mut [u8],
        left: &mut u64,
        reading: Reading,
        seen: &mut Option<Vec<u8>>,
    ) -> Result<Moved, Broken> {
        let mut turn = TURN;
        while turn > 0 {
            match self.step(from, to, buffer, left, seen)? {
                Step::Over => return Ok(Moved::Over),
                Step::Last(_) if reading == Reading::ToTheEnd || self.is_held_up() => {}
                Step::Blocked | Step::Done | Step::Last(_) => return Ok(Moved::Blocked),
                Step::Moved(count) => turn = turn.saturating_sub(count.max(1)),
            }
        }
        Ok(Moved::More)
    }

    fn step(
        &mut self,
        from: &TcpStream,
        to: &TcpStream,
        buffer: &mut [u8],
        left: &mut u64,
        seen: &mut Option<Vec<u8>>,
    ) -> Result<Step, Broken> {
        if self.shut {
            return Ok(Step::Done);
        }
        if !self.waiting().is_empty() {
            return self.write_waiting(to);
        }
        if let Some(pipe) = &mut self.pipe
            && pipe.holds > 0
        {
            let moved = move_pages(&pipe.read, to, pipe.holds, false)?;
            if let Step::Moved(count) = moved {
                pipe.holds -= usize::try_from(count).unwrap_or(pipe.holds).min(pipe.holds);
                self.bytes += count;
            }
            return Ok(moved);
        }
        if self.ended {
            self.shut = true;
            // Where the other side is gone already there is nobody to tell.
            drop(to.shutdown(Shutdown::Write));
            return Ok(Step::Done);
        }
        let most = usize::try_from(*left).unwrap_or(usize::MAX);
        if most == 0 {
            // Only an end may come now.
            return match from.peek(&mut [0]) {
                Ok(0) => {
                    self.ended = true;
                    Ok(Step::Moved(0))
                }
                Ok(_) => Ok(Step::Over),
                Err(error) => not_now(error, true),
            };
        }
        if self.bytes >= BULK && self.pipe.is_none() {
            self.pipe = pipe();
        }
        if let Some(pipe) = &mut self.pipe {
            return match move_pages(from, &pipe.write, PIPE.min(most), true)? {
                Step::Moved(count) => {
                    pipe.holds = usize::try_from(count).unwrap_or(0);
                    *left = left.saturating_sub(count);
                    Ok(Step::Moved(0))
                }
                Step::Done => {
                    self.ended = true;
                    Ok(Step::Moved(0))
                }
                other => Ok(other),
            };
        }
        let room = buffer.len().min(most);
        let moved = self.copy(from, to, buffer.get_mut(..room).unwrap_or_default(), seen)?;
        if let Step::Moved(count) | Step::Last(count) = moved {
            *left = left.saturating_sub(count);
        }
        Ok(moved)
    }

    fn copy(
        &mut self,
        mut from: &TcpStream,
        to: &TcpStream,
        buffer: &mut [u8],
        seen: &mut Option<Vec<u8>>,
    ) -> Result<Step, Broken> {
        let count = match from.read(buffer) {
            Ok(0) => {
                self.ended = true;
                return Ok(Step::Moved(0));
            }
            Ok(count) => count,
            Err(error) => return not_now(error, true),
        };
        let read = buffer.get(..count).unwrap_or_default();
        if let Some(seen) = seen
            && seen.len() < hello::MAX_BYTES
        {
            seen.extend_from_slice(read);
        }
        self.waiting.clear();
        self.written = 0;
        let written = match (&mut &*to).write(read) {
            Ok(written) => written,
            // What is not written now waits.
            Err(error) => not_now(error, false).map(|_| 0)?,
        };
        self.bytes += written as u64;
        self.waiting.extend_from_slice(read.get(written..).unwrap_or_default());
        let read = count as u64;
        Ok(if count < buffer.len() { Step::Last(read) } else { Step::Moved(read) })
    }

    fn write_waiting(&mut self, mut to: &TcpStream) -> Result<Step, Broken> {
        match to.write(self.waiting.get(self.written..).unwrap_or_default()) {
            Ok(count) => {
                self.written += count;
                self.bytes += count as u64;
                if self.written >= self.waiting.len() {
                    self.waiting.clear();
                    self.written = 0;
                }
                Ok(Step::Moved(count as u64))
            }
            Err(error) => not_now(error, false),
        }
    }
}

fn not_now(error: io::Error, reading: bool) -> Result<Step, Broken> {
    match error.kind() {
        io::ErrorKind::WouldBlock => Ok(Step::Blocked),
        io::ErrorKind::Interrupted => Ok(Step::Moved(0)),
        _ => Err(Broken { reading, error }),
    }
}

fn move_pages(
    from: &impl std::os::fd::AsFd,
    to: &impl std::os::fd::AsFd,
    most: usize,
    reading: bool,
) -> Result<Step, Broken> {
    let flags = SpliceFFlags::SPLICE_F_MOVE | SpliceFFlags::SPLICE_F_NONBLOCK;
    match splice(from, None, to, None, most, flags) {
        Ok(0) => Ok(Step::Done),
        Ok(count) => Ok(Step::Moved(count as u64)),
        Err(errno) => not_now(errno.into(), reading),
    }
}

/// `None` where there is no descriptor for one: copying does it too.
fn pipe() -> Option<Pipe> {
    use nix::fcntl::{FcntlArg, fcntl};
    let (read, write) = nix::unistd::pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK).ok()?;
    // An account that is full leaves it smaller, which works too.
    let _ = fcntl(&write, FcntlArg::F_SETPIPE_SZ(i32::try_from(PIPE).unwrap_or(i32::MAX)));
    Some(Pipe { read, write, holds: 0 })
}
