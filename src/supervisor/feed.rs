//! The payload's stdin: written without ever waiting, whether or not anybody reads it.

use super::prepare::Stdin;
use crate::sys::fd;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

/// One read's size: a pipe holds 64 KiB, but most of what comes is short.
const CHUNK: usize = 8 << 10;

/// What is still to be written, and the pipe for it while somebody may read it.
#[derive(Debug)]
pub struct Feed {
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
    written: usize,
    relay: bool,
    later: bool,
}

impl Feed {
    /// The write end of the payload's stdin, and what goes into it.
    pub fn new(pipe: OwnedFd, stdin: Stdin) -> Self {
        let (bytes, relay, later) = match stdin {
            Stdin::Bytes(bytes) => (bytes, false, false),
            Stdin::Relay => (Vec::new(), true, false),
            Stdin::Later => (Vec::new(), false, true),
        };
        Self { pipe: Some(pipe), bytes, written: 0, relay, later }
    }

    fn pending(&self) -> bool {
        self.written < self.bytes.len()
    }

    /// The pipe, when there is something to do with it: bytes to write, or an end to tell.
    pub fn wants_to_write(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().filter(|_| self.pending() || !(self.relay || self.later)).map(|pipe| pipe.as_fd())
    }

    /// Whether our own stdin is to be read: it is relayed, and what came before is gone.
    pub fn wants_to_read(&self) -> bool {
        self.relay && !self.pending() && self.pipe.is_some()
    }

    /// The pipe, while what goes into it is not known.
    pub fn held(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().filter(|_| self.later).map(|pipe| pipe.as_fd())
    }

    /// What goes into a pipe that was held: these bytes, then end of file.
    pub fn give(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        (self.bytes, self.written, self.later) = (bytes, 0, false);
        self.write()
    }

    /// Writes as much as the pipe takes; closes it after the last byte.
    pub fn write(&mut self) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        while let Some(rest) = self.bytes.get(self.written..).filter(|rest| !rest.is_empty()) {
            match fd::write(pipe.as_raw_fd(), rest) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // The payload closed its stdin: it does not want the rest.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {
                    self.pipe = None;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        if !(self.relay || self.later) {
            self.pipe = None;
        }
        Ok(())
    }

    /// Takes the next chunk of our own stdin, which poll(2) found ready.
    pub fn relay(&mut self) -> io::Result<()> {
        let mut chunk = vec![0u8; CHUNK];
        match fd::read(io::stdin().as_raw_fd(), &mut chunk) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                chunk.truncate(count);
                (self.bytes, self.written) = (chunk, 0);
                self.write()?;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // A terminal in the background, a directory: as good as nothing to read.
            Err(_) => self.pipe = None,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Feed, Stdin};
    use std::io::Read as _;
    use std::os::fd::AsFd as _;

    fn feed(bytes: &[u8]) -> (std::fs::File, Feed) {
        let (read, write) = nix::unistd::pipe().unwrap();
        crate::sys::fd::set_nonblocking(write.as_fd()).unwrap();
        (read.into(), Feed::new(write, Stdin::Bytes(bytes.to_vec())))
    }

    #[test]
    fn a_reader_gets_everything_and_the_end() {
        let bytes = vec![b'x'; 300_000];
        let (mut read, mut feed) = feed(&bytes);
        let mut got = Vec::new();
        let mut chunk = [0u8; 10_000];
        loop {
            feed.write().unwrap();
            match read.read(&mut chunk).unwrap() {
                0 => break,
                count => got.extend_from_slice(&chunk[..count]),
            }
        }
        assert_eq!(got, bytes);
        assert!(feed.wants_to_write().is_none() && !feed.wants_to_read());
    }

    #[test]
    fn nobody_reads_and_nothing_waits() {
        let (read, mut feed) = feed(&vec![b'x'; 300_000]);
        feed.write().unwrap();
        assert!(feed.wants_to_write().is_some(), "the pipe is full");
        drop(read);
        feed.write().unwrap();
        assert!(feed.wants_to_write().is_none(), "the reader is gone");
    }

    #[test]
    fn no_input_is_an_end_at_once() {
        let (mut read, mut feed) = feed(b"");
        assert!(feed.wants_to_write().is_some());
        feed.write().unwrap();
        assert_eq!(read.read(&mut [0]).unwrap(), 0);
    }
}
