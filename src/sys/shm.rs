//! shmget(2), shmat(2), shmctl(2): a canary for the laboratory.

use super::checked;
use std::io;
use std::ptr::null_mut;

/// Size of the segment.
pub const SIZE: usize = 64;

/// A System V segment of this ipc namespace that everyone may write.
#[derive(Debug)]
pub struct Segment {
    id: i32,
}

impl Segment {
    /// Makes one under a key, filled with zeros.
    ///
    /// # Errors
    /// `EEXIST`; `ENOSYS` where an outer filter refuses it.
    pub fn create(key: i32) -> io::Result<Self> {
        let flags = libc::IPC_CREAT | libc::IPC_EXCL | 0o666;
        // SAFETY: plain integers.
        let id = checked(unsafe { libc::c_long::from(libc::shmget(key, SIZE, flags)) })?;
        Ok(Self { id: i32::try_from(id).unwrap_or(-1) })
    }

    /// What is in it now.
    ///
    /// # Errors
    /// The kernel's: it was removed meanwhile.
    pub fn read(&self) -> io::Result<[u8; SIZE]> {
        // SAFETY: a null address lets the kernel choose a free place; nothing of ours is mapped over.
        let at = unsafe { libc::shmat(self.id, null_mut(), libc::SHM_RDONLY) };
        if at as isize == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the segment has SIZE bytes, is mapped readable, and bytes have no invalid values; the copy may mix old
        // and new ones where somebody writes meanwhile, which no reader relies on.
        let copy = unsafe { std::ptr::read_volatile(at.cast::<[u8; SIZE]>()) };
        // SAFETY: exactly what shmat gave, and no reference into it is left.
        checked(unsafe { libc::c_long::from(libc::shmdt(at)) })?;
        Ok(copy)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: IPC_RMID takes no buffer. A segment that is gone already is what we want.
        unsafe { libc::shmctl(self.id, libc::IPC_RMID, null_mut()) };
    }
}
