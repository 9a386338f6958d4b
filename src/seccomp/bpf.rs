//! Classic BPF as seccomp takes it: the instructions, what a valid program is, and what one does with one input.

use super::filter::Arch;

/// `struct sock_filter` of `linux/filter.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SockFilter {
    /// Operation.
    pub code: u16,
    /// Jump if true, in instructions after the next.
    pub jt: u8,
    /// Jump if false.
    pub jf: u8,
    /// Operand.
    pub k: u32,
}

/// `A = word at k` of `seccomp_data`.
pub const LD: u16 = 0x20;
/// `A &= k`.
pub const AND: u16 = 0x54;
/// Jump by k.
pub const JA: u16 = 0x05;
/// Jump if `A == k`.
pub const JEQ: u16 = 0x15;
/// Jump if `A > k`.
pub const JGT: u16 = 0x25;
/// Jump if `A >= k`.
pub const JGE: u16 = 0x35;
/// Jump if `A & k` is not 0.
pub const JSET: u16 = 0x45;
/// Return k.
pub const RET: u16 = 0x06;

/// `BPF_MAXINSNS`: the kernel takes no longer program.
pub const MAX_LEN: usize = 4096;
/// `seccomp_data` as the program sees it: sixteen words (number, architecture, instruction pointer, six arguments).
pub const WORDS: usize = 16;
/// Offset of the number.
pub const NR: u32 = 0;
/// Offset of the architecture.
pub const ARCH: u32 = 4;

/// Offset of an argument's lower half (both our architectures are little-endian).
pub const fn arg_lo(index: u8) -> u32 {
    16 + 8 * index as u32
}

/// Offset of an argument's upper half.
pub const fn arg_hi(index: u8) -> u32 {
    arg_lo(index) + 4
}

/// One input: what the kernel shows a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// The sixteen words in the order of `seccomp_data`.
    pub words: [u32; WORDS],
}

impl Data {
    /// From a call. The instruction pointer is 0; programs of ours never read it.
    pub fn new(arch: u32, nr: u32, args: &[u64; 6]) -> Self {
        let mut words = [0; WORDS];
        words[0] = nr;
        words[1] = arch;
        for (i, arg) in args.iter().enumerate() {
            words[4 + 2 * i] = (*arg & 0xffff_ffff) as u32;
            words[5 + 2 * i] = (*arg >> 32) as u32;
        }
        Self { words }
    }

    /// The number.
    pub fn nr(&self) -> u32 {
        self.words[0]
    }

    /// The architecture.
    pub fn arch(&self) -> u32 {
        self.words[1]
    }

    /// The arguments.
    pub fn args(&self) -> [u64; 6] {
        std::array::from_fn(|i| u64::from(self.words[4 + 2 * i]) | u64::from(self.words[5 + 2 * i]) << 32)
    }
}

/// Why a program is none that we interpret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Empty, or over the kernel's limit.
    #[error("a program has 1 to {MAX_LEN} instructions, this one {0}")]
    Length(usize),
    /// An operation outside the subset that both compilers use; refused rather than guessed.
    #[error("instruction {at}: operation {code:#06x} is not in the subset")]
    Operation {
        /// Index.
        at: usize,
        /// Operation.
        code: u16,
    },
    /// A jump behind the end.
    #[error("instruction {0} jumps out of the program")]
    Jump(usize),
    /// A load outside `seccomp_data` or not aligned.
    #[error("instruction {0} loads outside seccomp_data")]
    Load(usize),
    /// The last instruction is no return.
    #[error("the program does not end with a return")]
    NoReturn,
}

/// Checks what the kernel's `bpf_check_classic` and `seccomp_check_filter` check, for our subset of operations. After
/// this no jump leaves the program and every path ends in a return, since jumps only go forward.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(program: &[SockFilter]) -> Result<(), Malformed> {
    if program.is_empty() || program.len() > MAX_LEN {
        return Err(Malformed::Length(program.len()));
    }
    for (at, ins) in program.iter().enumerate() {
        let room = program.len() - 1 - at;
        match ins.code {
            LD if ins.k % 4 != 0 || ins.k as usize >= WORDS * 4 => return Err(Malformed::Load(at)),
            JA if ins.k as usize >= room => return Err(Malformed::Jump(at)),
            JEQ | JGT | JGE | JSET if usize::from(ins.jt.max(ins.jf)) >= room => {
                return Err(Malformed::Jump(at));
            }
            LD | AND | RET | JA | JEQ | JGT | JGE | JSET => {}
            code => return Err(Malformed::Operation { at, code }),
        }
    }
    if program.last().is_some_and(|last| last.code == RET) { Ok(()) } else { Err(Malformed::NoReturn) }
}

/// Runs a program on one input, as the kernel does; `None` where the program is not one that [`check`] accepts.
pub fn run(program: &[SockFilter], data: &Data) -> Option<u32> {
    follow(program, data, |_| {})
}

/// As [`run`], and names each instruction that the input comes by.
pub fn follow(program: &[SockFilter], data: &Data, mut comes_by: impl FnMut(usize)) -> Option<u32> {
    let (mut at, mut a) = (0usize, 0u32);
    loop {
        comes_by(at);
        let ins = program.get(at)?;
        let jump = |yes: bool| usize::from(if yes { ins.jt } else { ins.jf });
        at += 1 + match ins.code {
            LD => {
                a = *data.words.get(ins.k as usize / 4)?;
                0
            }
            AND => {
                a &= ins.k;
                0
            }
            JA => ins.k as usize,
            JEQ => jump(a == ins.k),
            JGT => jump(a > ins.k),
            JGE => jump(a >= ins.k),
            JSET => jump(a & ins.k != 0),
            RET => return Some(ins.k),
            _ => return None,
        };
    }
}

/// The bytes that the kernel reads: what a filter's digest is taken of. Little-endian, as both architectures are.
pub fn bytes(program: &[SockFilter]) -> Vec<u8> {
    let mut out = Vec::with_capacity(program.len() * 8);
    for ins in program {
        out.extend_from_slice(&ins.code.to_le_bytes());
        out.extend_from_slice(&[ins.jt, ins.jf]);
        out.extend_from_slice(&ins.k.to_le_bytes());
    }
    out
}

/// sha256 of [`bytes`], in hex.
pub fn digest(program: &[SockFilter]) -> String {
    use sha2::Digest as _;
    use std::fmt::Write as _;
    sha2::Sha256::digest(bytes(program)).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// `x86_64 socket(domain=2, type=1, …)`: an input in words.
pub fn describe(data: &Data) -> String {
    let Some(arch) = Arch::from_audit(data.arch()) else {
        return format!("architecture {:#x}, number {}", data.arch(), data.nr());
    };
    let args = data.args();
    match super::syscalls::Table::builtin().numbered(arch, data.nr()) {
        Some(call) => {
            let named: Vec<String> = match &call.args {
                Some(list) => list.iter().zip(args).map(|(a, v)| format!("{}={v:#x}", a.name)).collect(),
                None => args.iter().map(|v| format!("{v:#x}")).collect(),
            };
            format!("{}({}) on {}", call.name, named.join(", "), arch.name())
        }
        None => format!("number {:#x} on {}, arguments {args:#x?}", data.nr(), arch.name()),
    }
}
