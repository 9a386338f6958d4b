//! The payload's stdout and stderr, read without ever waiting, bounded.

use crate::sys::fd;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

/// One read's size. A pipe holds 64 KiB, but most that is said is short, and what is read into is memory to be made.
const CHUNK: usize = 8 << 10;
/// See pipe(7).
const PIPE_BUF: usize = 4096;

/// What is kept of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Head,
    Tail(usize),
}

/// A stream of the payload.
#[derive(Debug)]
pub struct Stream {
    pipe: Option<OwnedFd>,
    kept: VecDeque<u8>,
    keep: Keep,
    cap: u64,
    total: u64,
    passed_on: usize,
}

impl Stream {
    /// Keeps everything up to `cap`.
    pub fn whole(pipe: OwnedFd, cap: u64) -> Self {
        Self { pipe: Some(pipe), kept: VecDeque::new(), keep: Keep::Head, cap, total: 0, passed_on: 0 }
    }

    /// Keeps the last `tail` bytes; `cap` is how much may come in all.
    pub fn tail(pipe: OwnedFd, cap: u64, tail: u64) -> Self {
        let tail = usize::try_from(tail).unwrap_or(usize::MAX);
        Self { pipe: Some(pipe), kept: VecDeque::new(), keep: Keep::Tail(tail), cap, total: 0, passed_on: 0 }
    }

    /// The pipe, while it is open.
    pub fn pipe(&self) -> Option<&OwnedFd> {
        self.pipe.as_ref()
    }

    /// Whether more came than may.
    pub fn over(&self) -> bool {
        self.total > self.cap
    }

    /// Bytes that were read.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Reads what is there, until the pipe is empty, closed, or over its cap.
    pub fn read_available(&mut self) -> io::Result<()> {
        let mut chunk = [0u8; CHUNK];
        while let (Some(pipe), false) = (&self.pipe, self.over()) {
            match fd::read(pipe.as_raw_fd(), &mut chunk) {
                Ok(0) => self.pipe = None,
                Ok(count) => self.take(chunk.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.kept.extend(bytes);
        let most = match self.keep {
            Keep::Head => return self.kept.truncate(usize::try_from(self.cap).unwrap_or(usize::MAX)),
            Keep::Tail(most) => most,
        };
        let surplus = self.kept.len().saturating_sub(most);
        self.kept.drain(..surplus);
    }

    /// Hands on what is kept, as far as `to` takes it without waiting; a reader that has had enough is no error here.
    pub fn pass_on(&mut self, to: BorrowedFd<'_>) {
        while let (false, Some(rest)) = (self.over(), self.kept.make_contiguous().get(self.passed_on..)) {
            let mut fds = [PollFd::new(to, PollFlags::POLLOUT)];
            if rest.is_empty() || !poll(&mut fds, PollTimeout::ZERO).is_ok_and(|count| count > 0) {
                return;
            }
            // What a pipe that can be written to takes without waiting (POSIX).
            match fd::write(to.as_raw_fd(), rest.get(..PIPE_BUF).unwrap_or(rest)) {
                Ok(count) => self.passed_on += count,
                Err(_) => return,
            }
        }
    }

    /// How many bytes were handed on.
    pub fn passed_on(&self) -> usize {
        self.passed_on
    }

    /// What was kept.
    pub fn into_bytes(self) -> Vec<u8> {
        self.kept.into()
    }
}

#[cfg(test)]
mod tests {
    use super::Stream;
    use std::io::Write as _;
    use std::os::fd::AsFd as _;

    fn filled(bytes: &[u8], make: impl Fn(std::os::fd::OwnedFd) -> Stream) -> Stream {
        let (read, write) = nix::unistd::pipe().unwrap();
        crate::sys::fd::set_nonblocking(read.as_fd()).unwrap();
        let mut stream = make(read);
        let mut write = std::fs::File::from(write);
        for chunk in bytes.chunks(1000) {
            write.write_all(chunk).unwrap();
            stream.read_available().unwrap();
        }
        stream
    }

    #[test]
    fn exactly_the_cap_is_not_over() {
        let stream = filled(&[b'x'; 4096], |pipe| Stream::whole(pipe, 4096));
        assert!(!stream.over());
        assert_eq!(stream.into_bytes().len(), 4096);
    }

    #[test]
    fn one_more_is_over() {
        let stream = filled(&[b'x'; 4097], |pipe| Stream::whole(pipe, 4096));
        assert!(stream.over());
        assert_eq!(stream.into_bytes().len(), 4096);
    }

    #[test]
    fn the_tail_is_the_end() {
        let bytes: Vec<u8> = (0..10_000u32).map(|n| u8::try_from(n % 251).unwrap()).collect();
        let stream = filled(&bytes, |pipe| Stream::tail(pipe, 1 << 20, 100));
        assert_eq!(stream.total(), 10_000);
        assert_eq!(stream.into_bytes(), bytes[9_900..]);
    }
}
