//! The prover's answer for an input is what a child with the program really gets: for random inputs, and for every
//! boundary at which the prover splits.
//!
//! The child runs the very program with other numbers behind its returns, so that nothing which it allows is done.

use crate::child::{Shared, raw, spawn};
use skilljail::seccomp::bpf::{Data, RET, SockFilter, run};
use skilljail::seccomp::prove::Prover;
use skilljail::seccomp::region::Region;
use skilljail::seccomp::{self, Action, Arch, Compiled};
use std::sync::atomic::{AtomicI64, Ordering};

/// Errno numbers that nothing else answers with.
pub const ALLOWED: u16 = 3001;
pub const ASKED: u16 = 3002;
pub const KILLED: u16 = 3003;

/// The same program, each return of `from` answering with an errno instead.
pub fn answering(program: &[SockFilter], marks: &[(Action, u16)]) -> Vec<SockFilter> {
    let mut program = program.to_vec();
    for ins in program.iter_mut().filter(|i| i.code == RET) {
        if let Some((_, mark)) = marks.iter().find(|(action, _)| action.ret() == ins.k) {
            ins.k = Action::Errno(*mark).ret();
        }
    }
    program
}

const MARKS: [(Action, u16); 3] =
    [(Action::Allow, ALLOWED), (Action::Notify, ASKED), (Action::KillProcess, KILLED)];

/// What a child gets for each input (as the kernel returns it), under the marked program.
fn kernel(program: &[SockFilter], inputs: &[Data]) -> Vec<i64> {
    let answers = Shared::<AtomicI64>::new(inputs.len());
    let marked = answering(program, &MARKS);
    let child = spawn(
        &marked,
        false,
        || {},
        || {
            for (input, slot) in inputs.iter().zip(answers.iter()) {
                slot.store(raw(input.nr(), &input.args()), Ordering::Relaxed);
            }
        },
    );
    assert_eq!(child.end(), libc::SIGILL, "the child came to its end");
    answers.iter().map(|a| a.load(Ordering::Relaxed)).collect()
}

/// What the prover, asked for this one input, says.
fn proven(program: &[SockFilter], input: &Data) -> u32 {
    let mut answer = None;
    let point = Region::point(input);
    let walked: Option<()> = Prover::new(program)
        .and_then(|mut prover| {
            prover.walk(&point, |_, ret| {
                Ok({
                    assert!(answer.replace(ret).is_none());
                    None
                })
            })
        })
        .unwrap();
    assert!(walked.is_none());
    answer.expect("one answer for one input")
}

/// Linux lets its own trampolines' calls past every filter and ends anybody else who makes them.
fn passes_every_filter(input: &Data) -> bool {
    let names = ["uretprobe", "uprobe"];
    seccomp::syscalls::name(Arch::NATIVE, input.nr()).is_some_and(|n| names.contains(&n))
}

fn compare(filter: &Compiled, inputs: impl IntoIterator<Item = Data>) -> usize {
    let native = |mut d: Data| {
        d.words[1] = Arch::NATIVE.audit();
        d
    };
    let inputs: Vec<Data> = inputs.into_iter().map(native).filter(|d| !passes_every_filter(d)).collect();
    let program = filter.program();
    for (input, got) in inputs.iter().zip(kernel(program, &inputs)) {
        let said = proven(program, input);
        assert_eq!(run(program, input), Some(said), "{input:x?}");
        let wanted = match Action::from_ret(said).unwrap() {
            Action::Allow => ALLOWED,
            Action::Notify => ASKED,
            Action::KillProcess => KILLED,
            Action::Errno(errno) => errno,
        };
        assert_eq!(got, -i64::from(wanted), "{}", seccomp::bpf::describe(input));
        let (_, meant) = filter.filter().unwrap().decide(Arch::NATIVE, input.nr(), &input.args());
        assert_eq!(meant.ret(), said, "the file means {meant}: {}", seccomp::bpf::describe(input));
    }
    inputs.len()
}

/// xorshift: the same inputs each time.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

#[test]
fn on_ten_thousand_random_inputs() {
    for name in ["default", "egress", "strict", "init"] {
        let filter = seccomp::shipped(name).unwrap();
        let constants: Vec<u32> = filter.program().iter().map(|i| i.k).collect();
        let mut random = Random(0x5eed_0000_0001);
        let inputs: Vec<Data> = (0..10_000)
            .map(|_| {
                let mut words = [0u32; 16];
                words[0] = match random.below(4) {
                    0 => random.next() as u32,
                    1 => constants[random.below(constants.len())],
                    _ => random.below(480) as u32,
                };
                for word in &mut words[4..] {
                    *word = match random.below(5) {
                        0 => random.next() as u32,
                        1 => 0,
                        2 => 1 << random.below(32),
                        _ => constants[random.below(constants.len())]
                            .wrapping_add(random.below(3) as u32)
                            .wrapping_sub(1),
                    };
                }
                Data { words }
            })
            .collect();
        let tried = compare(&filter, inputs);
        assert!(tried > 9_900, "{tried}");
    }
}

#[test]
fn at_every_boundary() {
    for name in seccomp::names() {
        let filter = seccomp::shipped(name).unwrap();
        let mut edges = Vec::new();
        let mut paths = 0;
        let native = Region::everything().listed(1, &[Arch::NATIVE.audit()], true).unwrap().unwrap();
        let walked: Option<()> = Prover::new(filter.program())
            .unwrap()
            .walk(&native, |region, _| {
                paths += 1;
                edges.extend(region.edges().unwrap());
                Ok(None)
            })
            .unwrap();
        assert!(walked.is_none());
        edges.sort_unstable_by_key(|d| d.words);
        edges.dedup();
        let tried = compare(&filter, edges);
        eprintln!("{name}: {paths} paths, {tried} inputs at their edges");
        assert!(tried > paths);
    }
}
