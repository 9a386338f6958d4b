//! The words `FILE|fd:N`: a path, or a descriptor that the caller left open.

use crate::sys::fcntl::duplicate;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a caller may take to hand over a file that it named.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// How long a reader of what we write may take nothing at all: a person may look at a page, but not for ever.
pub const READER_PATIENCE: Duration = Duration::from_mins(2);
/// What a pipe that poll(2) calls writable takes without waiting (POSIX).
const PIPE_BUF: usize = 4096;

/// The file behind the words cannot be opened, read or written: the caller's fault.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// It does not open.
    #[error("{option} {word}: {source}")]
    Open {
        /// The option.
        option: &'static str,
        /// Its value.
        word: String,
        /// Why.
        source: io::Error,
    },
    /// It holds more than it may.
    #[error("{option} {word}: more than {max} bytes")]
    TooLong {
        /// The option.
        option: &'static str,
        /// Its value.
        word: String,
        /// The bound.
        max: u64,
    },
}

fn open(option: &'static str, word: &str, options: &OpenOptions) -> Result<File, TargetError> {
    let fail = |source| TargetError::Open { option, word: word.to_owned(), source };
    match word.strip_prefix("fd:") {
        Some(number) => {
            let number: i32 = number.parse().ok().filter(|number| *number >= 0).ok_or_else(|| {
                fail(io::Error::new(io::ErrorKind::InvalidInput, "not the number of a descriptor"))
            })?;
            duplicate(number).map(File::from).map_err(|errno| fail(errno.into()))
        }
        None => options.open(Path::new(word)).map_err(fail),
    }
}

/// The same for a file that is written. A fifo that nobody reads is refused at once (`ENXIO`) instead of waited for.
fn open_to_write(option: &'static str, word: &str, options: &mut OpenOptions) -> Result<File, TargetError> {
    let file = open(option, word, options.custom_flags(libc::O_NONBLOCK))?;
    if !word.starts_with("fd:") {
        // Ours alone, so that nobody else's writes begin to wait.
        let fail =
            |errno: nix::Error| TargetError::Open { option, word: word.to_owned(), source: errno.into() };
        let flags = OFlag::from_bits_retain(fcntl(&file, FcntlArg::F_GETFL).map_err(fail)?);
        fcntl(&file, FcntlArg::F_SETFL(flags - OFlag::O_NONBLOCK)).map_err(fail)?;
    }
    Ok(file)
}

/// Opens a target for appending; a file is made with mode 0600 if there is none.
///
/// # Errors
///
/// See [`TargetError`].
pub fn append(option: &'static str, word: &str) -> Result<File, TargetError> {
    open_to_write(option, word, OpenOptions::new().append(true).create(true).mode(0o600))
}

/// Opens a target for a new document: an emptied file that only its owner reads. 0 to 2 are refused: the script's
/// streams leave by them.
///
/// # Errors
///
/// See [`TargetError`].
pub fn create(option: &'static str, word: &str) -> Result<File, TargetError> {
    if matches!(word, "fd:0" | "fd:1" | "fd:2") {
        let source = io::Error::new(
            io::ErrorKind::InvalidInput,
            "that is a standard stream\nhint: open another, such as `--report fd:3 3>result.json`",
        );
        return Err(TargetError::Open { option, word: word.to_owned(), source });
    }
    open_to_write(option, word, OpenOptions::new().write(true).create(true).truncate(true).mode(0o600))
}

/// Reads a whole target of at most `max` bytes.
///
/// # Errors
///
/// See [`TargetError`].
pub fn read(option: &'static str, word: &str, max: u64) -> Result<Vec<u8>, TargetError> {
    let file = open(option, word, OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK))?;
    let bytes = read_all(&file, max.saturating_add(1), PATIENCE).map_err(|source| TargetError::Open {
        option,
        word: word.to_owned(),
        source,
    })?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= max) {
        return Ok(bytes);
    }
    Err(TargetError::TooLong { option, word: word.to_owned(), max })
}

/// Opens a file for [`read_all`]; a fifo that nobody writes to does not hold it up.
///
/// # Errors
///
/// As open(2).
pub fn open_to_read(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

/// A whole file of at most `most` bytes, whatever kind of file it is: an endless one and a fifo that nobody writes to end too.
///
/// # Errors
///
/// As open(2) and read(2); `FileTooLarge`; `TimedOut` when the end did not come.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let bytes = read_all(open_to_read(path)?, most.saturating_add(1), PATIENCE)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {most} bytes")));
    }
    Ok(bytes)
}

/// Reads to the end of file, but at most `most` bytes, and for no longer than `patience`: a caller that keeps its end
/// of a pipe open must not keep us waiting for ever.
///
/// # Errors
///
/// As read(2); `TimedOut` when the end did not come.
pub fn read_all(source: impl AsFd, most: u64, patience: Duration) -> io::Result<Vec<u8>> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let deadline = Instant::now() + patience;
    let mut bytes = Vec::new();
    let mut chunk = vec![0u8; 64 << 10];
    while bytes.len() < most {
        if !ready(source.as_fd(), PollFlags::POLLIN, deadline)? {
            let why = format!("its end did not come within {} ms", patience.as_millis());
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        let room = chunk.len().min(most - bytes.len());
        match nix::unistd::read(&source, chunk.get_mut(..room).unwrap_or_default()) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            Err(nix::Error::EINTR | nix::Error::EAGAIN) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(bytes)
}

/// A stream that is written as long as somebody takes it: whoever keeps its end of a pipe open and never reads must not keep
/// us for ever. The error is then `TimedOut`.
#[derive(Debug)]
pub struct Patient<T> {
    stream: T,
    patience: Duration,
}

impl<T: AsFd> Patient<T> {
    /// Writes into `stream`, which may take nothing for at most `patience`.
    pub fn new(stream: T, patience: Duration) -> Self {
        Self { stream, patience }
    }
}

/// Waits until a write would not wait.
///
/// # Errors
///
/// As poll(2); `TimedOut` when nobody took anything for as long as `patience`.
pub fn wait_writable(stream: impl AsFd, patience: Duration) -> io::Result<()> {
    if ready(stream.as_fd(), PollFlags::POLLOUT, Instant::now() + patience)? {
        return Ok(());
    }
    let why = format!("its reader took nothing for {} s", patience.as_secs());
    Err(io::Error::new(io::ErrorKind::TimedOut, why))
}

/// Whether it became ready before the deadline; also when it was closed: the call that follows says how.
fn ready(stream: BorrowedFd<'_>, wanted: PollFlags, deadline: Instant) -> io::Result<bool> {
    loop {
        // Rounded up, so that a millisecond that has begun is waited out.
        let left = deadline.saturating_duration_since(Instant::now()).as_millis().saturating_add(1);
        let left = i32::try_from(left).ok().and_then(|left| PollTimeout::try_from(left).ok());
        match poll(&mut [PollFd::new(stream, wanted)], left.unwrap_or(PollTimeout::MAX)) {
            Ok(count) => return Ok(count > 0),
            Err(nix::Error::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

impl<T: AsFd> io::Write for Patient<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            wait_writable(&self.stream, self.patience)?;
            match nix::unistd::write(&self.stream, bytes.get(..PIPE_BUF).unwrap_or(bytes)) {
                Err(nix::Error::EAGAIN | nix::Error::EINTR) => {}
                other => return other.map_err(io::Error::from),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_takes_nothing_is_waited_for_for_a_while() {
        let (read, write) = nix::unistd::pipe().unwrap();
        let mut stream = Patient::new(write, Duration::from_millis(20));
        let error = stream.write_all(&vec![b'x'; 1 << 20]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
        let taken = std::thread::spawn(move || read_all(&read, 1 << 21, PATIENCE).unwrap().len());
        let mut stream = Patient::new(stream.stream, PATIENCE);
        stream.write_all(&vec![b'x'; 1 << 20]).unwrap();
        drop(stream);
        // A pipe's 64 KiB were taken before.
        assert_eq!(taken.join().unwrap(), (1 << 20) + (64 << 10));
    }

    #[test]
    fn a_fifo_that_nobody_reads_is_refused_and_one_with_a_reader_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let word = path.to_str().unwrap();
        assert!(create("--report", word).is_err());
        assert!(append("--audit", word).is_err());
        let reader = open_to_read(&path).unwrap();
        create("--report", word).unwrap().write_all(b"abc").unwrap();
        assert_eq!(read_all(reader, 10, PATIENCE).unwrap(), b"abc");
    }

    #[test]
    fn reading_ends_by_end_by_size_and_by_patience() {
        let pipe = |bytes: &[u8]| {
            let (read, write) = nix::unistd::pipe().unwrap();
            let mut write = File::from(write);
            write.write_all(bytes).unwrap();
            (read, write)
        };
        let short = Duration::from_millis(20);
        let (read, write) = pipe(b"abc");
        let error = read_all(&read, 10, short).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
        drop(write);
        let (read, write) = pipe(b"abc");
        assert_eq!(read_all(&read, 2, short).unwrap(), b"ab");
        drop(write);
        assert_eq!(read_all(&read, 10, short).unwrap(), b"c");
        assert_eq!(read_all(File::open("/dev/zero").unwrap(), 100_000, PATIENCE).unwrap().len(), 100_000);
        assert!(read_all(File::open("/").unwrap(), 10, short).is_err(), "a directory");
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let error = read_all(open_to_read(&fifo).unwrap(), 10, short).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "a fifo without a writer: {error}");
    }
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

    #[test]
    fn files_and_descriptors() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t").to_str().unwrap().to_owned();
        append("--audit", &path).unwrap().write_all(b"a").unwrap();
        let kept = File::options().append(true).open(&path).unwrap();
        append("--audit", &format!("fd:{}", kept.as_raw_fd())).unwrap().write_all(b"b").unwrap();
        assert_eq!(read("--secrets", &path, 2).unwrap(), b"ab");
        assert!(matches!(read("--secrets", &path, 1), Err(TargetError::TooLong { .. })));
        for word in ["fd:", "fd:-1", "fd:x", "fd:99999999999", "fd:900000", "/nowhere/x"] {
            assert!(append("--audit", word).is_err(), "{word}");
        }
    }
}
