//! What the kernel says of the jail's two processes while the script waits: capabilities, seccomp, ids, namespaces.

use super::support::Skill;
use super::support::live::{Live, READY, descendants, status};
use nix::sys::signal::Signal;
use std::fs;

fn waiting() -> (Live, i32, i32) {
    // The skill's folder must live until it is read.
    let skill = Skill::new(&format!("{READY}\nready()"));
    let live = skill.run().start();
    let script = live.ready();
    let init: i32 = status(script, "PPid").parse().unwrap();
    assert_eq!(status(init, "PPid"), live.pid().to_string(), "init is the supervisor's child");
    (live, init, script)
}

fn end(live: Live) {
    live.signal(Signal::SIGTERM);
    assert_eq!(live.finish().status(), "cancelled");
}

#[test]
fn no_capability_is_in_any_set_of_either_process() {
    let (live, init, script) = waiting();
    for pid in [init, script] {
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert_eq!(status(pid, set), "0000000000000000", "{set}");
        }
        assert_eq!(status(pid, "NoNewPrivs"), "1");
        assert_eq!(status(pid, "Seccomp"), "2", "filter mode");
        assert_eq!(status(pid, "Groups"), "", "no supplementary groups of root's");
    }
    assert_eq!(descendants(live.pid()).len(), 2, "init and the script");
    end(live);
}

#[test]
fn outside_it_is_the_caller_or_an_id_of_its_own_never_root() {
    let (live, init, script) = waiting();
    let caller = nix::unistd::geteuid().as_raw();
    for pid in [init, script] {
        for field in ["Uid", "Gid"] {
            let ids = status(pid, field);
            let mut ids = ids.split(' ').map(|id| id.parse::<u32>().unwrap());
            let first = ids.next().unwrap();
            assert!(ids.all(|id| id == first), "real, effective, saved and file-system id are one");
            if caller == 0 {
                assert!((1_879_048_192..1_879_113_728).contains(&first), "{field} {first}");
            } else if field == "Uid" {
                assert_eq!(first, caller);
            }
        }
    }
    end(live);
}

#[test]
fn two_runs_of_root_are_two_users() {
    let (one, _, first) = waiting();
    let (two, _, second) = waiting();
    if nix::unistd::geteuid().is_root() {
        assert_ne!(status(first, "Uid"), status(second, "Uid"));
    } else {
        assert_eq!(status(first, "Uid"), status(second, "Uid"), "there is only the caller's id to have");
    }
    end(one);
    end(two);
}

#[test]
fn the_scripts_process_hears_every_signal() {
    let (live, _, script) = waiting();
    assert_eq!(status(script, "SigBlk"), "0000000000000000");
    // CPython ignores SIGPIPE (13) and SIGXFSZ (25) itself.
    assert_eq!(status(script, "SigIgn"), "0000000001001000");
    end(live);
}

#[test]
fn every_namespace_is_new() {
    let (live, init, script) = waiting();
    for kind in ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"] {
        let of = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/{kind}"));
        let ours = of("self").unwrap();
        let theirs = of(&script.to_string()).unwrap();
        assert_ne!(ours, theirs, "{kind}");
        // Init is not dumpable: only a process with privileges over it may look.
        if let Ok(of_init) = of(&init.to_string()) {
            assert_eq!(of_init, theirs, "{kind}: init and script share it");
        }
    }
    end(live);
}

#[test]
fn init_is_not_dumpable_and_holds_nothing_but_the_channel() {
    let (live, init, script) = waiting();
    use std::os::unix::fs::MetadataExt as _;
    // Files in /proc of a process that is not dumpable belong to root (proc(5)); in a user namespace whose root is not
    // mapped that is the overflow id, or the kernel's root.
    let owner = |pid: i32| fs::metadata(format!("/proc/{pid}/environ")).unwrap().uid().to_string();
    let uid = |pid: i32| status(pid, "Uid").split(' ').next().unwrap().to_owned();
    assert_ne!(owner(init), uid(init), "not dumpable");
    assert_eq!(owner(script), uid(script), "control: the script's process is");
    let fds = |pid: i32| fs::read_dir(format!("/proc/{pid}/fd")).map(|dir| dir.flatten().count());
    assert_eq!(fds(script).unwrap(), 3);
    match fds(init) {
        Ok(count) => assert_eq!(count, 1, "the channel"),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied),
    }
    end(live);
}

/// The network namespace holds one interface, and it is down.
#[test]
fn the_network_is_one_loopback_that_is_down() {
    let (live, _, script) = waiting();
    let devices = fs::read_to_string(format!("/proc/{script}/net/dev")).unwrap();
    let names: Vec<&str> = devices.lines().skip(2).filter_map(|line| line.split(':').next()).collect();
    assert_eq!(names.iter().map(|name| name.trim()).collect::<Vec<_>>(), ["lo"]);
    let route = fs::read_to_string(format!("/proc/{script}/net/route")).unwrap();
    assert!(route.lines().count() <= 1, "a heading and no route: {route}");
    assert_eq!(fs::read_to_string(format!("/proc/{script}/net/if_inet6")).unwrap_or_default(), "");
    end(live);
}
