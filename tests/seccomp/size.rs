//! Bounds on what is installed.

use skilljail::seccomp::{self, Arch, bpf};

#[test]
fn every_shipped_program_is_short_and_its_digest_is_that_of_its_bytes() {
    let names: Vec<&str> = seccomp::names().collect();
    assert!(["default", "init", "strict"].iter().all(|n| names.contains(n)), "{names:?}");
    for name in names {
        let filter = seccomp::shipped(name).unwrap();
        for arch in Arch::ALL {
            let len = filter.program_for(arch).len();
            eprintln!("{name} on {}: {len} instructions", arch.name());
            assert!(len <= 450, "{name} on {} has {len} instructions", arch.name());
        }
        assert_eq!(filter.digest(), bpf::digest(filter.program()));
        assert_eq!(filter.notify(), name != "init");
    }
}

#[test]
fn a_file_becomes_the_same_program_as_the_shipped_one() {
    let shipped = seccomp::shipped("default").unwrap();
    let loaded = seccomp::load("mine.json", shipped.source()).unwrap();
    assert_eq!(loaded.digest(), shipped.digest());
    assert!(seccomp::shipped("no-such-filter").is_none());
}

#[test]
fn every_call_of_the_table_stands_in_the_default_filter() {
    let shipped = seccomp::shipped("default").unwrap();
    let filter = shipped.filter().unwrap();
    for call in seccomp::syscalls::Table::builtin().calls() {
        assert!(filter.rules_of(&call.name).next().is_some(), "{} is in no group", call.name);
    }
}

#[test]
fn the_table_agrees_with_the_headers() {
    // Numbers that the C library's crate knows too, spread over the whole table.
    let known = [
        ("read", libc::SYS_read),
        ("ioctl", libc::SYS_ioctl),
        ("clone", libc::SYS_clone),
        ("execve", libc::SYS_execve),
        ("fcntl", libc::SYS_fcntl),
        ("prctl", libc::SYS_prctl),
        ("futex", libc::SYS_futex),
        ("openat", libc::SYS_openat),
        ("newfstatat", libc::SYS_newfstatat),
        ("prlimit64", libc::SYS_prlimit64),
        ("execveat", libc::SYS_execveat),
        ("preadv2", libc::SYS_preadv2),
        ("statx", libc::SYS_statx),
        ("rseq", libc::SYS_rseq),
        ("clone3", libc::SYS_clone3),
        ("openat2", libc::SYS_openat2),
        ("mseal", libc::SYS_mseal),
    ];
    let table = seccomp::syscalls::Table::builtin();
    for (name, nr) in known {
        assert_eq!(table.named(name).and_then(|c| c.number(Arch::NATIVE)).map(i64::from), Some(nr), "{name}");
    }
}
