//! `exec` of a program that does nothing, and `run` of skills, beside the bare program and the other jails.

use super::measure::{Case, Times, in_turn, throughput};
use super::place::{Place, checkout, find};
use super::table::Table;
use std::path::Path;

const BINDS: [&str; 4] = ["/usr", "/lib", "/lib64", "/bin"];
/// Blocks of a throughput figure, and runs in each.
const BLOCKS: usize = 7;

fn text(path: &Path) -> String {
    path.to_str().expect("text").to_owned()
}

fn words(first: &str, rest: &str) -> Vec<String> {
    std::iter::once(first).chain(rest.split_whitespace()).map(str::to_owned).collect()
}

fn bubblewrap(extra: &str, command: &[String]) -> Option<Case> {
    let path = find("bwrap")?;
    let mut list =
        words(&text(&path), "--unshare-all --die-with-parent --new-session --dev /dev --tmpfs /tmp");
    list.extend(words("--clearenv", extra));
    list.extend(command.iter().cloned());
    Some(Case::new("bubblewrap", list))
}

/// The other jails with their usual words for the same: the host's programs read-only, no network.
fn peers(table: &mut Table) -> Vec<Case> {
    let mut found = Vec::new();
    let program = vec!["/bin/true".to_owned()];
    let binds = BINDS.map(|bind| format!("--ro-bind {bind} {bind}")).join(" ");
    let mut add = |name: &str, package: &str, case: Option<Case>| match case {
        None => table.skip("exec", name, &format!("not installed (Debian: apt-get install {package})")),
        Some(case) => match case.works() {
            Ok(()) => found.push(case),
            Err(why) => table.skip("exec", name, &format!("it does not work here: {why}")),
        },
    };
    add("bubblewrap", "bubblewrap", bubblewrap(&binds, &program));
    let minijail = find("minijail0").map(|path| {
        Case::new("minijail0", words(&text(&path), "-v -p -e -l -N -n -U -m -M --uts -- /bin/true"))
    });
    add("minijail0", "minijail (not in every release)", minijail);
    let firejail = find("firejail").map(|path| {
        Case::new(
            "firejail",
            words(
                &text(&path),
                "--quiet --noprofile --net=none --private --caps.drop=all --seccomp -- /bin/true",
            ),
        )
    });
    add("firejail", "firejail", firejail);
    let unshare = find("unshare").map(|path| {
        Case::new(
            "unshare",
            words(
                &text(&path),
                "--user --map-root-user --mount --net --pid --fork --ipc --uts --cgroup /bin/true",
            ),
        )
    });
    add("unshare", "util-linux", unshare);
    found
}

/// An OCI bundle of the host's programs, for crun.
fn crun(place: &Place) -> Option<Case> {
    let path = find("crun")?;
    let bundle = place.at("bundle");
    std::fs::create_dir_all(bundle.join("rootfs")).ok()?;
    let mounts: Vec<_> = BINDS
        .iter()
        .map(|bind| serde_json::json!({ "destination": bind, "source": bind, "type": "bind", "options": ["rbind", "ro"] }))
        .collect();
    let namespaces: Vec<_> = ["pid", "network", "ipc", "uts", "mount", "cgroup"]
        .iter()
        .map(|kind| serde_json::json!({ "type": kind }))
        .collect();
    let config = serde_json::json!({
        "ociVersion": "1.0.0",
        "process": { "terminal": false, "user": { "uid": 0, "gid": 0 }, "args": ["/bin/true"], "cwd": "/", "noNewPrivileges": true },
        "root": { "path": "rootfs" },
        "mounts": mounts,
        "linux": { "namespaces": namespaces },
    });
    std::fs::write(bundle.join("config.json"), config.to_string()).ok()?;
    let state = place.at("crun-state");
    // A container has a name while it runs, and several run at once.
    let script = format!("exec {} --root {} run --bundle {} b$$", text(&path), text(&state), text(&bundle));
    Some(Case::new("crun", ["/bin/sh", "-c", &script]))
}

fn of<'a, T>(cases: &[Case], values: &'a [T], name: &str) -> Option<&'a T> {
    cases.iter().position(|case| case.name == name).and_then(|index| values.get(index))
}

fn tell(table: &mut Table, group: &str, cases: &[Case], times: &[Times]) {
    for (case, times) in cases.iter().zip(times) {
        table.row(group, &case.name, "us", times.p50(), Some(times.p95()));
    }
}

pub(crate) fn exec_words(place: &Place, more: &[&str]) -> Vec<String> {
    let mut list = vec![text(&place.program), "exec".to_owned()];
    list.extend(more.iter().map(|word| (*word).to_owned()));
    for bind in BINDS {
        list.extend(["--ro-bind".to_owned(), bind.to_owned()]);
    }
    list.extend(["--".to_owned(), "/bin/true".to_owned()]);
    list
}

/// What a jail adds to a program that does nothing, and how many a second.
pub(crate) fn exec(place: &Place, rounds: usize, table: &mut Table) {
    let mut cases = vec![Case::new("bare", ["/bin/true"]), Case::new("skilljail", exec_words(place, &[]))];
    match &place.floor {
        Ok(floor) => {
            let mut list = vec![text(floor), text(&place.at("filter.bpf")), "/bin/true".to_owned()];
            list.extend(BINDS.map(str::to_owned));
            cases.push(Case::new("floor", list));
        }
        Err(why) => table.skip("exec", "floor", why),
    }
    cases.extend(peers(table));
    match crun(place).map(|case| (case.works(), case)) {
        None => table.skip("exec", "crun", "not installed (Debian: apt-get install crun)"),
        Some((Ok(()), case)) => cases.push(case),
        Some((Err(why), _)) => table.skip("exec", "crun", &format!("it does not work here: {why}")),
    }
    let times = in_turn(&cases, rounds);
    tell(table, "exec", &cases, &times);
    let bare = times[0].p50();
    let added = |name: &str| of(&cases, &times, name).map(|times| times.p50() - bare);
    let ours = added("skilljail").unwrap_or(f64::NAN);
    if let Some(theirs) = added("bubblewrap") {
        table.ratio("exec: added time, ours / bubblewrap's", ours / theirs, 0.6, true);
    }
    if let Some(floor) = added("floor") {
        table.ratio("exec: added time, ours / the floor's", ours / floor, 1.5, true);
    }
    for width in [2, 8] {
        let rates = throughput(&cases, width, BLOCKS, rounds.max(40));
        for (case, rate) in cases.iter().zip(&rates) {
            table.row(&format!("exec at {width}"), &case.name, "runs/s", *rate, None);
        }
        if width == 8
            && let (Some(ours), Some(theirs)) =
                (of(&cases, &rates, "skilljail"), of(&cases, &rates, "bubblewrap"))
        {
            table.ratio("exec at 8: throughput, ours / bubblewrap's", ours / theirs, 1.7, false);
        }
    }
}

fn run_words(place: &Place, runtime: &Path, skill: &Path, script: &str) -> Vec<String> {
    let mut list = words(&text(&place.program), "run --runtime");
    list.extend([text(runtime), text(skill), script.to_owned()]);
    list
}

/// The pinned Python's own flags and `sys.path`, outside of any jail: what the jail itself costs a run.
fn same_flags(python: &Path, script: &Path, runtime: &Path) -> Case {
    let stdlib = "usr/lib/python";
    let path = std::fs::read_dir(runtime.join("usr/lib"))
        .expect("a tree")
        .flatten()
        .map(|entry| entry.path())
        .find(|path| text(path).contains(stdlib))
        .expect("a standard library");
    // As the start-up module sets it, on the tree's own files.
    let start = format!(
        "import sys; sys.path[:] = [{p:?}, {p:?} + '/lib-dynload', {p:?} + '/site-packages']; __file__ = {s:?}; exec(compile(open(__file__).read(), __file__, 'exec'))",
        p = text(&path),
        s = text(script),
    );
    Case::new("bare, same flags and path", [&text(python), "-I", "-B", "-c", &start])
}

fn bubblewrap_python(place: &Place, runtime: &Path, skill: &Path) -> Option<Case> {
    let usr = text(&runtime.join("usr"));
    let skill = text(skill);
    let name = place.python.file_name()?.to_str()?;
    let extra = format!(
        "--ro-bind {usr} /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 --ro-bind {skill} /skill --setenv LANG C.UTF-8"
    );
    bubblewrap(&extra, &words(&format!("/usr/bin/{name}"), "-I -B /skill/scripts/main.py"))
}

/// The JSON echo skill, and the same with twenty files.
pub(crate) fn run(place: &Place, rounds: usize, table: &mut Table) {
    let input = place.file("echo.json", r#"{"text": "hello"}"#);
    let echo = place.at("echo");
    let script = echo.join("scripts/main.py");
    let mut cases = vec![
        Case::new("bare", [&text(&place.python), &text(&script)]),
        same_flags(&place.python, &script, &place.runtime),
        Case::new("skilljail", run_words(place, &place.runtime, &echo, "main.py")),
        Case::new("skilljail, 20 files", run_words(place, &place.runtime, &place.at("twenty"), "main.py")),
    ];
    cases.extend(bubblewrap_python(place, &place.runtime, &echo));
    let cases: Vec<Case> = cases.into_iter().map(|case| case.stdin(&input)).collect();
    let times = in_turn(&cases, rounds);
    tell(table, "echo", &cases, &times);
    let ours = times[2].p50();
    table.ratio("echo: run / bare python3", ours / times[0].p50(), 1.0, true);
    table.ratio("echo: run / bare with the same flags and path", ours / times[1].p50(), 1.15, true);
    for width in [2, 8] {
        let rates = throughput(&cases, width, BLOCKS, rounds.max(40));
        for (case, rate) in cases.iter().zip(&rates) {
            table.row(&format!("echo at {width}"), &case.name, "runs/s", *rate, None);
        }
        if let (Some(ours), Some(theirs)) =
            (of(&cases, &rates, "skilljail"), of(&cases, &rates, "bubblewrap"))
        {
            let what = format!("echo at {width}: throughput, ours / bubblewrap's with the same Python");
            table.ratio(&what, ours / theirs, 1.1, false);
        }
    }
}

/// `table-stats`: numpy and pandas.
pub(crate) fn data(place: &Place, rounds: usize, table: &mut Table) {
    let Some(runtime) = &place.data else {
        return table.skip(
            "table-stats",
            "run",
            "no runtime with numpy and pandas: `make bench` builds one where pip works",
        );
    };
    let bare = std::env::var("BENCH_DATA_PYTHON").ok().filter(|path| Path::new(path).exists());
    let skill = checkout().join("skills/table-stats");
    let input = checkout().join("skills/table-stats/examples/describe.input.json");
    let list = run_words(place, runtime, &skill, "describe.py");
    let mut cases = vec![Case::new("skilljail", list)];
    match bare {
        Some(python) => cases.push(Case::new("bare", [&python, &text(&skill.join("scripts/describe.py"))])),
        None => table.skip(
            "table-stats",
            "bare",
            "no python3 outside with the same packages: BENCH_DATA_PYTHON names one",
        ),
    }
    let cases: Vec<Case> = cases.into_iter().map(|case| case.stdin(&input)).collect();
    if let Err(why) = cases[0].works() {
        return table.skip("table-stats", "run", &why);
    }
    let times = in_turn(&cases, (rounds / 5).max(10));
    tell(table, "table-stats", &cases, &times);
    if let Some(bare) = times.get(1) {
        table.ratio("table-stats: run / bare", times[0].p50() / bare.p50(), 0.9, true);
    }
}

/// A program that makes half a million calls, none of them denied, in a filter that writes denials down and in the same
/// The same filter without a listener: what it writes down is answered by the kernel alone.
fn silent(filter: &str) -> String {
    let mut filter: serde_json::Value = serde_json::from_str(filter).expect("JSON");
    let quiet = |part: &mut serde_json::Value| {
        let writes = part["action"] == "notify";
        if writes {
            part["action"] = "errno".into();
            part["errno"] = "EPERM".into();
        }
        writes
    };
    for place in ["default", "mismatch"] {
        quiet(&mut filter[place]);
    }
    for group in filter["groups"].as_array_mut().expect("a list") {
        if !quiet(group) {
            continue;
        }
        for call in group["calls"].as_array_mut().expect("a list") {
            if call.is_string() {
                *call = serde_json::json!({ "call": call.take(), "reason": "for the bench" });
            }
        }
    }
    filter.to_string()
}

/// one that only refuses. The calls are timed inside.
pub(crate) fn denials(place: &Place, rounds: usize, table: &mut Table) {
    let calls = "
import json, os, sys, time
json.load(sys.stdin)
call = os.getppid
start = time.perf_counter()
for _ in range(500_000): call()
print(time.perf_counter() - start)
";
    let skill = place.skill("calls", calls, &[]);
    // Only the full build reads filters of one's own.
    let full = env!("CARGO_BIN_EXE_skilljail");
    let filter = std::fs::read_to_string(checkout().join("seccomp/default.json")).expect("it is shipped");
    place.file("silent.json", silent(&filter));
    let policy = std::fs::read_to_string(checkout().join("policies/default.json")).expect("it is shipped");
    let mut policy: serde_json::Value = serde_json::from_str(&policy).expect("JSON");
    policy["filter"] = "silent.json".into();
    let silent = place.file("silent-policy.json", policy.to_string());
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..rounds.min(40) {
        for index in [round % 2, (round + 1) % 2] {
            let policy = if index == 0 { "default".to_owned() } else { text(&silent) };
            let mut command = std::process::Command::new(full);
            command
                .args(["run", "--runtime"])
                .arg(&place.runtime)
                .args(["--policy", &policy])
                .arg(&skill)
                .arg("main.py");
            command.stdin(std::fs::File::open(place.file("empty.json", "{}")).expect("a file"));
            let output = command.output().expect("it starts");
            let said = String::from_utf8_lossy(&output.stdout);
            let Ok(seconds) = said.trim().parse::<f64>() else {
                let why = String::from_utf8_lossy(&output.stderr)
                    .trim()
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                return table.skip("denials", "a filter without the log", &why);
            };
            times[index].push(std::time::Duration::from_secs_f64(seconds));
        }
    }
    let [with, without] = times.map(Times::new);
    table.row("denials", "500,000 allowed calls, with the log", "us", with.p50(), Some(with.p95()));
    table.row("denials", "500,000 allowed calls, without it", "us", without.p50(), Some(without.p95()));
    table.ratio("denials: with the log / without", with.p50() / without.p50(), 1.03, true);
}
