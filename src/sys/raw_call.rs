//! syscall(2), by number and registers, by each entry that the processor has: for the fuzzer's program inside of a jail.

/// By which entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// The one of this architecture.
    Native,
    /// The same with the bit of x32 set in the number (x86_64 only).
    X32,
    /// `int 0x80`, whose numbers are those of i386 (x86_64 only).
    Int80,
}

/// Makes one call. What came back is as the kernel gave it: negative is minus errno.
///
/// The caller is a process that exists to be ended by this: it must own every address that it hands over, except those
/// that the kernel only checks.
pub fn raw(entry: Entry, nr: u32, args: &[u64; 6]) -> i64 {
    let [a, b, c, d, e, f] = *args;
    let ret: i64;
    #[cfg(target_arch = "x86_64")]
    if entry == Entry::Int80 {
        // SAFETY: the registers are the ABI's; rbx, which the compiler keeps, is put back; the addresses are truncated
        // to 32 bits, where this process has nothing mapped, so the kernel answers EFAULT at most.
        unsafe {
            std::arch::asm!("xchg rbx, {b}", "int 0x80", "xchg rbx, {b}", b = inout(reg) a & 0xffff_ffff => _,
                inlateout("rax") u64::from(nr).cast_signed() => ret, in("rcx") b, in("rdx") c, in("rsi") d, in("rdi") e,
                out("r8") _, out("r9") _, out("r10") _, out("r11") _);
        }
        return ret;
    }
    let nr = if entry == Entry::X32 { nr | 0x4000_0000 } else { nr };
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the registers are the ABI's. What the call does to memory is the caller's promise above.
    unsafe {
        std::arch::asm!("syscall", inlateout("rax") u64::from(nr).cast_signed() => ret, in("rdi") a, in("rsi") b,
            in("rdx") c, in("r10") d, in("r8") e, in("r9") f, out("rcx") _, out("r11") _);
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("svc 0", in("x8") u64::from(nr), inlateout("x0") a.cast_signed() => ret, in("x1") b, in("x2") c,
            in("x3") d, in("x4") e, in("x5") f);
    }
    ret
}

/// Private pages of this process that nobody else uses: what calls read, write and unmap.
#[derive(Debug)]
pub struct Pages {
    start: usize,
    length: usize,
}

impl Pages {
    /// Maps zeroed pages, and behind them a stretch that nobody can touch: a call that writes too much ends there. Never
    /// given back, the process is short.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub fn map(length: usize) -> std::io::Result<Self> {
        const GUARD: usize = 16 << 20;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh anonymous mapping where the kernel likes; nothing of ours is mapped over.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), length + GUARD, libc::PROT_NONE, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the first pages of the mapping just made, to which nobody else has the address.
        let done = unsafe { libc::mprotect(at, length, libc::PROT_READ | libc::PROT_WRITE) };
        if done != 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Self { start: at as usize, length })
    }

    /// The address of an offset, which wraps around in the middle: what begins there has as much room again.
    pub fn address(&self, offset: u64) -> u64 {
        self.start as u64 + offset % (self.length as u64 / 2)
    }

    /// Puts bytes there.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        let room = self.length.saturating_sub(offset).min(bytes.len());
        let to = (self.start + offset.min(self.length)) as *mut u8;
        // SAFETY: `room` bytes from `to` lie in the mapping, which lives as long as the process; no reference into it is
        // ever made. It is called before any call could have unmapped a part.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, room) };
    }
}

/// Lets signals that a call may bring about pass: they would end the process and hide what came after.
pub fn ignore_signals() {
    for signal in [libc::SIGALRM, libc::SIGVTALRM, libc::SIGPROF, libc::SIGXFSZ, libc::SIGPIPE, libc::SIGIO] {
        // SAFETY: SIG_IGN is a valid disposition for each of them.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

extern "C" fn nothing(_: libc::c_int) {}

/// Lets `SIGURG` interrupt whatever call a thread waits in, and do nothing else.
pub fn interrupt_by_urg() {
    // SAFETY: all-zero is a valid sigaction: no flag (so that calls are not restarted), an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
    // SAFETY: the handler touches nothing, and lives as long as the program.
    unsafe { libc::sigaction(libc::SIGURG, &raw const action, std::ptr::null_mut()) };
}
