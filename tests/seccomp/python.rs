//! Python under the default filter, on the bare host: what it needs is allowed, and what is denied is known.

use crate::child::{Exec, spawn};
use skilljail::seccomp;

fn denied(script: &str) -> (i32, Vec<String>) {
    let exec = Exec::new(&std::env::var("PY").unwrap_or("/usr/bin/python3".into()), &["python3", "-I", "-c", script]);
    let filter = seccomp::shipped("default").unwrap();
    let child = spawn(filter.program(), true, || exec.prepare(), || exec.go());
    let seen = child.answer();
    let lines = seen.iter().map(|n| format!("{:?} {:x?}", filter.lookup(n.nr, &n.args).unwrap().name, n.args)).collect();
    (child.end(), lines)
}

#[test]
fn trial() {
    let script = std::env::var("TRIAL").unwrap_or("pass".into());
    let (end, lines) = denied(&script);
    eprintln!("{end}");
    for l in lines { eprintln!("{l}"); }
}
