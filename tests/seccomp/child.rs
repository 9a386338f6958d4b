//! A child process under a program: the only way to see what a kernel does with one.

use skilljail::seccomp::bpf::SockFilter;
use skilljail::sys::execveat::{self, CVector};
use skilljail::sys::seccomp;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI64, Ordering};

/// Memory that parent and child share.
pub struct Shared<T: 'static>(&'static [T]);

impl<T> Shared<T> {
    /// Zeroed room for `len` of them; never given back, a test's process is short.
    pub fn new(len: usize) -> Self {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh mapping that stays for the life of the process; only atomics are put in it.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len * size_of::<T>(),
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            )
        };
        assert_ne!(at, libc::MAP_FAILED);
        // SAFETY: zeroed, page-aligned, big enough, and of atomics all bit patterns are valid.
        Self(unsafe { std::slice::from_raw_parts(at.cast(), len) })
    }
}

impl<T> std::ops::Deref for Shared<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.0
    }
}

/// Makes one call with these registers; what came back as the kernel gave it (negative: minus errno).
pub fn raw(nr: u32, args: &[u64; 6]) -> i64 {
    let [a, b, c, d, e, f] = *args;
    let ret: i64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: under a program of the tests every call that could touch memory is answered without being run.
    unsafe {
        std::arch::asm!("syscall", inlateout("rax") u64::from(nr).cast_signed() => ret, in("rdi") a, in("rsi") b,
            in("rdx") c, in("r10") d, in("r8") e, in("r9") f, out("rcx") _, out("r11") _, options(nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("svc 0", in("x8") u64::from(nr), inlateout("x0") a.cast_signed() => ret, in("x1") b, in("x2") c,
            in("x3") d, in("x4") e, in("x5") f, options(nostack));
    }
    ret
}

/// A child that lives under a program.
pub struct Child {
    pub pid: i32,
    pub listener: Option<OwnedFd>,
}

/// Forks; the child runs `before`, installs the program, then runs `body`; both must neither allocate nor lock, and ends by SIGSEGV if
/// that returns.
pub fn spawn(program: &[SockFilter], listener: bool, before: impl FnOnce(), body: impl FnOnce()) -> Child {
    let state = Shared::<AtomicI64>::new(1);
    // SAFETY: the child only makes raw calls and uses what was prepared before.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: plain values.
        unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        // SAFETY: as above; a core file of each child would fill the disk.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, i32::from(listener), 0, 0, 0) };
        before();
        let installed = seccomp::install(program, listener);
        let told = match &installed {
            Ok(Some(fd)) => i64::from(fd.as_raw_fd()),
            Ok(None) => 1,
            Err(e) => -i64::from(e.raw_os_error().unwrap_or(libc::EIO)),
        };
        std::mem::forget(installed);
        state[0].store(told, Ordering::SeqCst);
        while listener && state[0].load(Ordering::SeqCst) != i64::MAX {
            std::hint::spin_loop();
        }
        body();
        crash();
    }
    assert!(pid > 0, "fork: {}", io::Error::last_os_error());
    let fd = loop {
        match state[0].load(Ordering::SeqCst) {
            0 => std::thread::yield_now(),
            fd => break fd,
        }
    };
    assert!(fd > 0, "the kernel refused the program: {}", io::Error::from_raw_os_error(-fd as i32));
    let listener = listener.then(|| take(pid, fd));
    state[0].store(i64::MAX, Ordering::SeqCst);
    Child { pid, listener }
}

/// Ends the process without a system call.
pub fn crash() -> ! {
    loop {
        // SAFETY: it is the purpose to die here.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!("ud2");
        }
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            std::arch::asm!("udf #0");
        }
    }
}

fn take(pid: i32, fd: i64) -> OwnedFd {
    // SAFETY: plain values.
    let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    assert!(pidfd >= 0, "pidfd_open: {}", io::Error::last_os_error());
    // SAFETY: a descriptor that was just made.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd as i32) };
    // SAFETY: plain values.
    let got = unsafe { libc::syscall(libc::SYS_pidfd_getfd, pidfd.as_raw_fd(), fd, 0) };
    assert!(got >= 0, "pidfd_getfd: {}", io::Error::last_os_error());
    // SAFETY: a descriptor that was just made.
    unsafe { OwnedFd::from_raw_fd(got as i32) }
}

impl Child {
    /// Waits for the end: the signal that it died of, or minus its exit code.
    pub fn end(self) -> i32 {
        let mut status = 0;
        // SAFETY: `status` lives during the call.
        let got = unsafe { libc::waitpid(self.pid, &raw mut status, 0) };
        assert_eq!(got, self.pid);
        if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { -libc::WEXITSTATUS(status) }
    }

    /// Answers notifications with EPERM until the child is gone; gives what was asked.
    pub fn answer(&self) -> Vec<seccomp::Notif> {
        let listener = self.listener.as_ref().expect("spawned with one").as_fd();
        let sizes = seccomp::NotifSizes::probe().expect("notifications");
        let mut seen = Vec::new();
        loop {
            let mut poll = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one pollfd that lives during the call.
            unsafe { libc::poll(&raw mut poll, 1, -1) };
            if poll.revents & libc::POLLIN == 0 {
                return seen;
            }
            let Ok(notif) = sizes.recv(listener) else { continue };
            assert!(seccomp::notif_valid(listener, notif.id));
            seen.push(notif);
            sizes.error(listener, notif.id, libc::EPERM).expect("the child waits");
        }
    }
}

/// Everything for the one exec, made before the fork.
pub struct Exec {
    file: std::fs::File,
    argv: CVector,
    envp: CVector,
}

impl Exec {
    pub fn new(path: &str, args: &[&str]) -> Self {
        let words = args.iter().map(|a| CString::new(*a).unwrap()).collect();
        let file = std::fs::File::open(path).unwrap();
        Self { file, argv: CVector::new(words), envp: CVector::new(Vec::new()) }
    }

    /// What the set-up does before it seals.
    pub fn prepare(&self) {
        // SAFETY: plain values.
        unsafe { libc::dup3(self.file.as_raw_fd(), skilljail::seccomp::EXEC_FD, libc::O_CLOEXEC) };
        let limit = libc::rlimit { rlim_cur: 256, rlim_max: 256 };
        // SAFETY: `limit` lives during the call.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
        execveat::map_empty_path().expect("mapped");
    }

    pub fn go(&self) {
        let _ = execveat::exec(&self.argv, &self.envp);
    }
}
