//! Every line of every shipped filter, executed.

use crate::agree::{ALLOWED, answering};
use crate::child::{Shared, raw, spawn};
use skilljail::seccomp::filter::{Rule, Test};
use skilljail::seccomp::{self, Action, Arch};
use std::sync::atomic::{AtomicI64, Ordering};

/// Registers that a rule takes.
fn fitting(rule: &Rule) -> [u64; 6] {
    let mut args = [0u64; 6];
    for condition in rule.when() {
        args[usize::from(condition.index())] = match condition.test() {
            Test::In { values, .. } => values[0],
            Test::Ne(v) => v ^ 1,
            Test::Lt(v) => v - 1,
            Test::Gt(v) => v + 1,
            Test::Le(v) | Test::Ge(v) => *v,
        };
    }
    assert!(rule.holds(&args), "{}: {args:x?} do not fit", rule.place());
    args
}

/// Calls whose filter answer nobody sees: the kernel lets them past every filter.
const PAST: [&str; 2] = ["uretprobe", "uprobe"];

#[test]
fn every_entry_does_what_it_says() {
    for name in ["default", "egress", "strict"] {
        let compiled = seccomp::shipped(name).unwrap();
        let filter = compiled.filter().unwrap();
        let calls: Vec<(&Rule, u32, [u64; 6])> = filter
            .rules()
            .iter()
            .filter(|r| !PAST.contains(&r.call().name.as_str()))
            .filter_map(|r| Some((r, r.call().number(Arch::NATIVE)?, fitting(r))))
            .collect();
        let answers = Shared::<AtomicI64>::new(calls.len());
        let marked = answering(compiled.program(), &[(Action::Allow, ALLOWED)]);
        let child = spawn(
            &marked,
            true,
            || {},
            || {
                for ((_, nr, args), slot) in calls.iter().zip(answers.iter()) {
                    slot.store(raw(*nr, args), Ordering::Relaxed);
                }
            },
        );
        let asked = child.answer();
        assert_eq!(child.end(), libc::SIGILL);
        let mut asked = asked.iter();
        for ((rule, nr, args), answer) in calls.iter().zip(answers.iter()) {
            let got = -answer.load(Ordering::Relaxed);
            let wanted = match rule.action() {
                Action::Allow => i64::from(ALLOWED),
                Action::Errno(errno) => i64::from(errno),
                Action::Notify => {
                    let notif = asked.next().expect("the supervisor was asked");
                    assert_eq!((notif.nr, &notif.args), (*nr, args), "{}", rule.place());
                    assert_eq!(notif.arch, Arch::NATIVE.audit());
                    i64::from(libc::EPERM)
                }
                Action::KillProcess => panic!("{}: no shipped line kills", rule.place()),
            };
            assert_eq!(got, wanted, "{} {}", rule.call().name, rule.place());
            let listed = compiled.lookup(*nr, args).unwrap();
            assert_eq!(listed.place.as_ref(), Some(rule.place()), "another line decides");
            assert_eq!(listed.reason, rule.reason());
            let line = listed.place.map(|p| p.line).unwrap();
            let source = if rule.place().file == compiled.file() {
                compiled.source()
            } else {
                seccomp::source_of("default").unwrap()
            };
            let text = source.lines().nth(line - 1).unwrap();
            assert!(text.contains(&format!("\"{}\"", rule.call().name)), "line {line}: {text}");
        }
        assert!(asked.next().is_none());
    }
}

/// A program that kills, each time in a child of its own: what it dies of.
fn dies_of(name: &str, nr: u32) -> i32 {
    let filter = seccomp::shipped(name).unwrap();
    spawn(
        filter.program(),
        false,
        || {},
        || {
            raw(nr, &[0; 6]);
        },
    )
    .end()
}

#[test]
fn pid_one_dies_of_anything_it_has_no_use_for() {
    for call in ["openat", "mmap", "socket", "execve", "kill", "getpid", "clone"] {
        let nr =
            seccomp::syscalls::Table::builtin().named(call).and_then(|c| c.number(Arch::NATIVE)).unwrap();
        assert_eq!(dies_of("init", nr), libc::SIGSYS, "{call}");
    }
    assert_eq!(dies_of("init", 9_999), libc::SIGSYS);
}

#[test]
fn numbers_that_nobody_listed_are_enosys() {
    let filter = seccomp::shipped("default").unwrap();
    let answers = Shared::<AtomicI64>::new(3);
    let child = spawn(
        filter.program(),
        false,
        || {},
        || {
            for (nr, slot) in [470u32, 511, 9_999].iter().zip(answers.iter()) {
                slot.store(raw(*nr, &[0; 6]), Ordering::Relaxed);
            }
        },
    );
    assert_eq!(child.end(), libc::SIGILL);
    assert!(answers.iter().all(|a| a.load(Ordering::Relaxed) == -i64::from(libc::ENOSYS)));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn x32_numbers_kill() {
    for nr in [0x4000_0000, 0x4000_0001, 0x4000_0208, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe] {
        assert_eq!(dies_of("default", nr), libc::SIGSYS, "{nr:#x}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_of_the_32_bit_architecture_kill() {
    let getpid = |in_jail: bool| {
        let answer = Shared::<AtomicI64>::new(1);
        let filter = seccomp::shipped("default").unwrap();
        let nothing = [skilljail::seccomp::bpf::SockFilter {
            code: skilljail::seccomp::bpf::RET,
            jt: 0,
            jf: 0,
            k: Action::Allow.ret(),
        }];
        let program = if in_jail { filter.program() } else { &nothing };
        let end = spawn(program, false, || {}, || {
            let mut ret: i64 = 20; // getpid of i386, writev of x86_64
            // SAFETY: a call without pointers.
            unsafe { std::arch::asm!("int 0x80", inout("rax") ret, out("r8") _, out("r9") _, out("r10") _, out("r11") _) };
            answer[0].store(ret, Ordering::SeqCst);
        })
        .end();
        (end, answer[0].load(Ordering::SeqCst))
    };
    let (end, pid) = getpid(false);
    if end == libc::SIGSEGV {
        eprintln!("SKIP: this kernel has no 32-bit calls at all");
        return;
    }
    assert!(end == libc::SIGILL && pid > 0, "control: without the filter the call works");
    assert_eq!(getpid(true), (libc::SIGSYS, 0));
}
