//! The filters against the kernel.
use skilljail::seccomp::{self, Arch};

#[test]
fn the_default_program_is_short() {
    for name in seccomp::names() {
        let filter = seccomp::shipped(name).expect("shipped");
        for arch in Arch::ALL {
            eprintln!("{name} {} {}", arch.name(), filter.program_for(arch).len());
            assert!(filter.program_for(arch).len() <= 450);
        }
    }
}
