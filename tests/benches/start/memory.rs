//! What the jail's own processes hold while the payload runs.

use super::place::{Place, find};
use super::table::Table;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(crate) fn measure(place: &Place, _rounds: usize, table: &mut Table) {
    let skill = place.skill(
        "waits",
        "import sys, time\nsys.stdin.read()\nprint('x', flush=True)\ntime.sleep(60)\n",
        &[],
    );
    let mut command = Command::new(&place.program);
    command.args(["run", "--runtime"]).arg(&place.runtime).arg(&skill).arg("main.py");
    command.stdin(fs::File::open(place.file("empty.json", "{}")).expect("a file"));
    let ours = held(command);
    let peer = find("bwrap").map(|path| {
        let mut command = Command::new(path);
        command.args([
            "--unshare-all",
            "--die-with-parent",
            "--ro-bind",
            "/",
            "/",
            "--",
            "/usr/bin/sleep",
            "60",
        ]);
        command.stdin(Stdio::null());
        held(command)
    });
    #[expect(clippy::cast_precision_loss, reason = "a few MiB")]
    if let Some((pss, peak)) = ours {
        table.row("memory", "supervisor and init, PSS", "KiB", pss as f64, None);
        table.row("memory", "supervisor and init, peak resident", "KiB", peak as f64, None);
        table.ratio("memory: supervisor and init, PSS in MiB", pss as f64 / 1024.0, 1.0, true);
    } else {
        table.skip("memory", "supervisor and init", "smaps_rollup cannot be read here");
    }
    #[expect(clippy::cast_precision_loss, reason = "a few MiB")]
    match peer.flatten() {
        Some((pss, peak)) => {
            table.row("memory", "bubblewrap twice, PSS", "KiB", pss as f64, None);
            table.row("memory", "bubblewrap twice, peak resident", "KiB", peak as f64, None);
        }
        None => table.skip("memory", "bubblewrap", "not installed, or its memory cannot be read here"),
    }
}

fn held(mut command: Command) -> Option<(u64, u64)> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    // Time enough for everything to be in place and asleep.
    std::thread::sleep(Duration::from_millis(700));
    let answer = of_jail(&child);
    drop(child.kill());
    drop(child.wait());
    answer
}

/// The process that was started, and its child: whoever has children of its own is no payload.
fn of_jail(child: &Child) -> Option<(u64, u64)> {
    let mut list = vec![child.id()];
    let mut next = children(child.id());
    while let [only] = next[..] {
        let below = children(only);
        if below.is_empty() {
            break;
        }
        list.push(only);
        next = below;
    }
    let sum = |file: &str, field: &str| list.iter().map(|pid| kib(*pid, file, field)).sum::<Option<u64>>();
    Some((sum("smaps_rollup", "Pss:")?, sum("status", "VmHWM:")?))
}

fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn kib(pid: u32, file: &str, field: &str) -> Option<u64> {
    let text = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join(file)).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}
