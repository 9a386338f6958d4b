//! `seccomp(2)`, `seccomp_unotify(2)`.

use crate::seccomp::bpf::SockFilter;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Installs a program for this thread, for good. With `listener` the descriptor of its notifications comes back
/// (close-on-exec). Allocates nothing, takes no lock.
///
/// # Errors
/// EACCES: neither `no_new_privs` nor `CAP_SYS_ADMIN`; EBUSY: a filter in force already has a listener;
/// EINVAL: the kernel refuses the program; ENOSYS: no seccomp.
pub fn install(program: &[SockFilter], listener: bool) -> io::Result<Option<OwnedFd>> {
    let len = u16::try_from(program.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    // The kernel only reads through the pointer; the type of the C header has no const.
    let fprog = libc::sock_fprog { len, filter: program.as_ptr().cast_mut().cast::<libc::sock_filter>() };
    let flags = if listener { libc::SECCOMP_FILTER_FLAG_NEW_LISTENER } else { 0 };
    // SAFETY: `fprog` and the program it points to live until the call returns; the kernel copies both during the
    // call and keeps no pointer. `SockFilter` is repr(C) with the layout of `struct sock_filter`.
    let ret =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const fprog) };
    let fd = checked(ret)?;
    if !listener {
        return Ok(None);
    }
    // SAFETY: with NEW_LISTENER the kernel returns a descriptor that it has just made and that nobody else owns.
    Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// Has this kernel an action (`SECCOMP_RET_*`)?
///
/// # Errors
/// EOPNOTSUPP: not this action; ENOSYS or EINVAL: no seccomp, or one older than 4.14.
pub fn action_available(action: u32) -> io::Result<()> {
    // SAFETY: the kernel reads one u32 during the call.
    let ret =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) };
    checked(ret).map(|_| ())
}

/// A call that waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notif {
    /// Names the call in answers.
    pub id: u64,
    /// The caller's thread id as the listener's pid namespace sees it; 0: not visible from there.
    pub pid: u32,
    /// The number.
    pub nr: u32,
    /// `AUDIT_ARCH_*`.
    pub arch: u32,
    /// Where the caller's code stands.
    pub ip: u64,
    /// The registers; what pointers point to may change at any time and must not be trusted.
    pub args: [u64; 6],
}

/// Room for the kernel's structs, whatever this kernel's size is; as of 6.18 they take 80 and 24 bytes. The kernel
/// writes as many bytes as its own struct has, so the size is asked for first ([`NotifSizes::probe`]).
const ROOM: usize = 64;

/// The sizes of the running kernel's structs, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotifSizes {
    notif: u16,
    resp: u16,
}

impl NotifSizes {
    /// Asks the kernel.
    ///
    /// # Errors
    /// EINVAL: no notifications (before 5.0); EOVERFLOW: its structs are bigger than we have room for.
    pub fn probe() -> io::Result<Self> {
        let mut sizes =
            libc::seccomp_notif_sizes { seccomp_notif: 0, seccomp_notif_resp: 0, seccomp_data: 0 };
        // SAFETY: the kernel writes one `seccomp_notif_sizes` during the call.
        let ret =
            unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_NOTIF_SIZES, 0, &raw mut sizes) };
        checked(ret)?;
        let (notif, resp) = (sizes.seccomp_notif, sizes.seccomp_notif_resp);
        if usize::from(notif.max(resp)) > ROOM * 8 || usize::from(notif) < size_of::<libc::seccomp_notif>() {
            return Err(io::Error::from_raw_os_error(libc::EOVERFLOW));
        }
        Ok(Self { notif, resp })
    }

    /// Takes the next notification; waits for one if there is none, before Linux 6.11 also when there can be none: poll first.
    ///
    /// # Errors
    /// ENOENT: the caller died or was interrupted meanwhile, take the next; EINTR.
    pub fn recv(self, listener: BorrowedFd<'_>) -> io::Result<Notif> {
        // The kernel wants the room zeroed.
        let mut room = [0u64; ROOM];
        let request = request(2 | 1, 0, self.notif);
        // SAFETY: the kernel writes its own struct, whose size `probe` found to fit the room.
        checked(unsafe { libc::syscall(libc::SYS_ioctl, listener.as_raw_fd(), request, room.as_mut_ptr()) })?;
        // id; pid and flags; then seccomp_data: nr and arch, ip, args.
        let [id, pid_flags, nr_arch, ip, args @ ..] = room;
        Ok(Notif {
            id,
            pid: low(pid_flags),
            nr: low(nr_arch),
            arch: (nr_arch >> 32) as u32,
            ip,
            args: std::array::from_fn(|i| args.get(i).copied().unwrap_or(0)),
        })
    }

    /// Lets the call fail with an errno; with one that is none, with EPERM.
    ///
    /// # Errors
    /// ENOENT: the caller no longer waits.
    pub fn error(self, listener: BorrowedFd<'_>, id: u64, errno: i32) -> io::Result<()> {
        // An error of 0 would tell the caller that the call was done.
        let errno = if (1..4096).contains(&errno) { errno } else { libc::EPERM };
        self.answer(listener, id, (-errno).cast_unsigned(), 0)
    }

    /// Lets the call through. Only for the laboratory: another thread may change what the call's pointers point to
    /// between the look at it and its execution, so nothing is enforced by whoever answers so.
    ///
    /// # Errors
    /// As [`Self::error`].
    #[cfg(feature = "lab")]
    pub fn proceed(self, listener: BorrowedFd<'_>, id: u64) -> io::Result<()> {
        const CONTINUE: u32 = 1;
        self.answer(listener, id, 0, CONTINUE)
    }

    fn answer(self, listener: BorrowedFd<'_>, id: u64, error: u32, flags: u32) -> io::Result<()> {
        let mut room = [0u64; ROOM];
        // id, val, then error (negative) and flags in one word.
        room[0] = id;
        room[2] = u64::from(error) | u64::from(flags) << 32;
        let request = request(2 | 1, 1, self.resp);
        // SAFETY: the kernel reads its own struct, whose size `probe` found to fit the room.
        checked(unsafe { libc::syscall(libc::SYS_ioctl, listener.as_raw_fd(), request, room.as_mut_ptr()) })?;
        Ok(())
    }
}

/// Does the caller of this notification still wait?
pub fn notif_valid(listener: BorrowedFd<'_>, id: u64) -> bool {
    let request = request(1, 2, 8);
    // SAFETY: the kernel reads one u64 during the call.
    unsafe { libc::syscall(libc::SYS_ioctl, listener.as_raw_fd(), request, &raw const id) == 0 }
}

/// `_IOC(direction, '!', number, size)`; the size is the running kernel's, not that of our headers.
fn request(direction: u32, number: u32, size: u16) -> libc::c_ulong {
    let value = (direction << 30) | (u32::from(size) << 16) | (0x21 << 8) | number;
    libc::c_ulong::from(value)
}

fn low(word: u64) -> u32 {
    (word & 0xffff_ffff) as u32
}

fn checked(ret: libc::c_long) -> io::Result<i32> {
    if ret < 0 { Err(io::Error::last_os_error()) } else { Ok(i32::try_from(ret).unwrap_or(i32::MAX)) }
}
