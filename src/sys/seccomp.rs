//! stub
#![allow(missing_docs, clippy::unnecessary_wraps)]
use crate::seccomp::SockFilter;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
pub struct Notif {
    pub id: u64,
    pub nr: i32,
    pub args: [u64; 6],
}
pub fn install(_p: &[SockFilter], _notify: bool) -> io::Result<Option<OwnedFd>> {
    Ok(None)
}
pub fn notif_recv(_fd: BorrowedFd<'_>) -> io::Result<Notif> {
    Err(io::Error::from_raw_os_error(2))
}
pub fn notif_error(_fd: BorrowedFd<'_>, _id: u64, _e: i32) -> io::Result<()> {
    Ok(())
}
