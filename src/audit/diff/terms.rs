//! Everything but the filter, each in its own terms.

use super::{Change, ChangePlace, DiffError, Direction};
use crate::audit::units::{bytes, millis};
use crate::layer::landlock::Grant;
use crate::layer::mounts::{Flag, Op};
use crate::plan::Plan;
use crate::policy::{CgroupMode, Contract, Limits, Policy};
use serde_json::Value;
use std::collections::BTreeMap;

/// All differences outside the filter.
pub(super) fn compare(
    old: &Policy,
    new: &Policy,
    before: &Plan,
    after: &Plan,
) -> Result<Vec<Change>, DiffError> {
    let mut changes = limits(old.limits(), new.limits());
    changes.extend(policies(old, new));
    changes.extend(landlock(old, new, before, after));
    changes.extend(keyed("environment", "/environment", &environment(before), &environment(after)));
    changes.extend(keyed("devices", "/devices", &devices(old), &devices(new)));
    changes.extend(files(before, after));
    changes.extend(super::egress::compare(old, new));
    changes.extend(rest(before, after)?);
    Ok(changes)
}

pub(super) fn change(
    direction: Direction,
    area: &'static str,
    subject: &str,
    old: &str,
    new: &str,
    pointer: &str,
) -> Change {
    Change {
        direction,
        area,
        subject: subject.to_owned(),
        old: old.to_owned(),
        new: new.to_owned(),
        architectures: Vec::new(),
        when: Vec::new(),
        witness: None,
        reason: None,
        place: ChangePlace::Policy(pointer.to_owned()),
    }
}

/// More of it is wider.
pub(super) fn more(old: u64, new: u64) -> Direction {
    if new > old { Direction::Wider } else { Direction::Narrower }
}

fn limits(old: &Limits, new: &Limits) -> Vec<Change> {
    type Say = fn(u64) -> String;
    let (count, seconds): (Say, Say) = (|n| n.to_string(), |n| format!("{n} s"));
    let rows: [(&str, u64, u64, Say, bool); 23] = [
        ("wall", old.wall_ms.value, new.wall_ms.value, millis, true),
        ("wall.max", old.wall_max_ms, new.wall_max_ms, millis, true),
        ("cpu", old.cpu_s.value, new.cpu_s.value, seconds, true),
        ("input", old.input_bytes.value, new.input_bytes.value, bytes, true),
        ("stdout", old.stdout_bytes.value, new.stdout_bytes.value, bytes, true),
        ("stderr", old.stderr_bytes.value, new.stderr_bytes.value, bytes, true),
        ("memory", old.memory_bytes.value, new.memory_bytes.value, bytes, true),
        ("workdir", old.workdir_bytes.value, new.workdir_bytes.value, bytes, true),
        ("workdir_inodes", old.workdir_inodes.value, new.workdir_inodes.value, count, true),
        ("shm", old.shm_bytes.value, new.shm_bytes.value, bytes, true),
        ("file", old.file_bytes.value, new.file_bytes.value, bytes, true),
        ("open_files", old.open_files.value, new.open_files.value, count, true),
        ("threads", old.threads.value, new.threads.value, count, true),
        ("denials", old.denials.value, new.denials.value, count, true),
        ("in_files", old.in_files.value, new.in_files.value, count, true),
        ("in_total", old.in_total_bytes.value, new.in_total_bytes.value, bytes, true),
        ("artifacts", old.artifacts.value, new.artifacts.value, count, true),
        ("artifact", old.artifact_bytes.value, new.artifact_bytes.value, bytes, true),
        ("artifacts_total", old.artifacts_total_bytes.value, new.artifacts_total_bytes.value, bytes, true),
        ("artifact_depth", old.artifact_depth.value, new.artifact_depth.value, count, true),
        // These hold nothing back: what is kept of what was let through anyway, and advice to libraries.
        ("stderr_kept", old.stderr_kept_bytes.value, new.stderr_kept_bytes.value, bytes, false),
        ("denials_kept", old.denials_kept.value, new.denials_kept.value, count, false),
        ("compute_threads", old.compute_threads.value, new.compute_threads.value, count, false),
    ];
    rows.into_iter()
        .filter(|(_, was, is, ..)| was != is)
        .map(|(name, was, is, say, bounds)| {
            let direction = if bounds { more(was, is) } else { Direction::Other };
            change(
                direction,
                "limits",
                name,
                &say(was),
                &say(is),
                &format!("/limits/{}", name.replace('.', "/")),
            )
        })
        .collect()
}

fn policies(old: &Policy, new: &Policy) -> Vec<Change> {
    let (was, is) = (old.file(), new.file());
    let mut changes = Vec::new();
    if was.contract != is.contract {
        let direction =
            if is.contract == Contract::Optional { Direction::Wider } else { Direction::Narrower };
        let say = |contract| if contract == Contract::Optional { "optional" } else { "required" };
        changes.push(change(
            direction,
            "contract",
            "xray.json",
            say(was.contract),
            say(is.contract),
            "/contract",
        ));
    }
    if was.cgroup.mode != is.cgroup.mode {
        let direction =
            if is.cgroup.mode == CgroupMode::Optional { Direction::Wider } else { Direction::Narrower };
        let say = |mode| if mode == CgroupMode::Optional { "optional" } else { "required" };
        changes.push(change(
            direction,
            "cgroup",
            "a delegated cgroup",
            say(was.cgroup.mode),
            say(is.cgroup.mode),
            "/cgroup/mode",
        ));
    }
    if was.runtime.digest != is.runtime.digest {
        let say =
            |digest: &Option<String>| digest.clone().unwrap_or_else(|| "any tree that verifies".to_owned());
        // Another pin is another program: what it does nobody here can judge.
        let direction = if was.runtime.digest.is_none() { Direction::Narrower } else { Direction::Wider };
        changes.push(change(
            direction,
            "runtime",
            "the pinned Python",
            &say(&was.runtime.digest),
            &say(&is.runtime.digest),
            "/runtime",
        ));
    }
    let range = |ids: &crate::policy::schema::OuterIds| {
        (u64::from(ids.first), u64::from(ids.first) + u64::from(ids.count))
    };
    let ((low, high), (new_low, new_high)) = (range(&was.outer_ids), range(&is.outer_ids));
    if (low, high) != (new_low, new_high) {
        let direction =
            if new_low >= low && new_high <= high { Direction::Narrower } else { Direction::Wider };
        let say = |low, high: u64| format!("{low} to {}", high - 1);
        changes.push(change(
            direction,
            "ids",
            "outer ids",
            &say(low, high),
            &say(new_low, new_high),
            "/outer_ids",
        ));
    }
    for (list, other, old, new) in [
        (&was.guarantees, &is.guarantees, "promised", "not promised"),
        (&is.guarantees, &was.guarantees, "not promised", "promised"),
    ] {
        for sentence in list.iter().filter(|sentence| !other.contains(sentence)) {
            changes.push(change(Direction::Other, "guarantees", sentence, old, new, "/guarantees"));
        }
    }
    changes
}

fn rights(grant: Grant) -> &'static [&'static str] {
    match grant {
        Grant::List => &["list"],
        Grant::Read => &["list", "read"],
        Grant::ReadFile => &["read"],
        Grant::Execute => &["read", "execute"],
        Grant::ReadWriteFile => &["read", "write"],
        Grant::Work => &["list", "read", "write", "make", "remove", "rename"],
    }
}

fn landlock(old: &Policy, new: &Policy, before: &Plan, after: &Plan) -> Vec<Change> {
    let (was, is) = (&old.file().landlock, &new.file().landlock);
    let mut changes = Vec::new();
    for (name, was, is) in
        [("require_abi", was.require_abi, is.require_abi), ("target_abi", was.target_abi, is.target_abi)]
    {
        if was != is {
            // A lower floor or target leaves rights unhandled.
            let direction = if is < was { Direction::Wider } else { Direction::Narrower };
            changes.push(change(
                direction,
                "landlock",
                name,
                &was.to_string(),
                &is.to_string(),
                &format!("/landlock/{name}"),
            ));
        }
    }
    let rules = |plan: &Plan| -> BTreeMap<String, Grant> {
        let own = |path: &str| !path.starts_with("/dev/");
        plan.landlock
            .rules
            .iter()
            .filter(|rule| own(&rule.path))
            .map(|rule| (rule.path.clone(), rule.grant))
            .collect()
    };
    let (was, is) = (rules(before), rules(after));
    for path in was.keys().chain(is.keys().filter(|path| !was.contains_key(*path))) {
        let list = |rules: &BTreeMap<String, Grant>| {
            rules.get(path).map_or::<&[&str], _>(&[], |grant| rights(*grant))
        };
        let (had, has) = (list(&was), list(&is));
        if had != has {
            let direction = if has.iter().any(|right| !had.contains(right)) {
                Direction::Wider
            } else {
                Direction::Narrower
            };
            let say =
                |rights: &[&str]| if rights.is_empty() { "nothing".to_owned() } else { rights.join(", ") };
            changes.push(change(direction, "landlock", path, &say(had), &say(has), "/landlock"));
        }
    }
    changes
}

fn environment(plan: &Plan) -> BTreeMap<String, String> {
    plan.payload
        .environment
        .iter()
        .filter(|v| !v.name.ends_with("_NUM_THREADS"))
        .map(|v| (v.name.clone(), v.value.clone()))
        .collect()
}

fn devices(policy: &Policy) -> BTreeMap<String, String> {
    policy
        .file()
        .devices
        .iter()
        .map(|device| (format!("{:?}", device.name).to_lowercase(), "there".to_owned()))
        .collect()
}

/// Maps whose new entries are wider. Of another value nobody can say what it does, so it counts as wider.
pub(super) fn keyed(
    area: &'static str,
    pointer: &str,
    was: &BTreeMap<String, String>,
    is: &BTreeMap<String, String>,
) -> Vec<Change> {
    let mut changes = Vec::new();
    for (name, value) in is {
        match was.get(name) {
            Some(other) if other == value => {}
            Some(other) => changes.push(change(Direction::Wider, area, name, other, value, pointer)),
            None => changes.push(change(Direction::Wider, area, name, "not there", value, pointer)),
        }
    }
    for (name, value) in was.iter().filter(|(name, _)| !is.contains_key(*name)) {
        changes.push(change(Direction::Narrower, area, name, value, "not there", pointer));
    }
    changes
}

fn place(op: &Op) -> Option<(&String, String, Vec<Flag>)> {
    match op {
        Op::Bind { source, path, flags, .. } => Some((path, format!("a bind of {source:?}"), flags.clone())),
        Op::Tmpfs { path, flags, .. } => Some((path, "a tmpfs".to_owned(), flags.clone())),
        Op::Alias { from, path, .. } => Some((path, format!("a second name of {from}"), Vec::new())),
        Op::Place { path, .. } => Some((path, "a read-only part of the root".to_owned(), vec![Flag::Ro])),
        Op::Symlink { path, target } => Some((path, format!("a link to {target}"), Vec::new())),
        Op::File { path, content, .. } => Some((path, format!("a made file: {content:?}"), vec![Flag::Ro])),
        Op::Dir { .. } | Op::Hold { .. } => None,
    }
}

/// What is where, without sizes (they are limits), devices, and the files of the one skill that stands for all.
fn places(plan: &Plan) -> BTreeMap<String, (String, Vec<Flag>)> {
    plan.mounts
        .ops
        .iter()
        .filter_map(place)
        // What the resolver is told follows from the egress part.
        .filter(|(path, ..)| !path.starts_with("/dev/") && *path != "/etc/resolv.conf")
        .map(|(path, what, flags)| (path.clone(), (what, flags)))
        .collect()
}

fn files(before: &Plan, after: &Plan) -> Vec<Change> {
    let (was, is) = (places(before), places(after));
    let say = |place: Option<&(String, Vec<Flag>)>| {
        place.map_or_else(|| "not there".to_owned(), |(what, flags)| format!("{what} {flags:?}"))
    };
    let mut changes = Vec::new();
    for path in was.keys().chain(is.keys().filter(|path| !was.contains_key(*path))) {
        let (old, new) = (was.get(path), is.get(path));
        if old == new {
            continue;
        }
        let direction = match (old, new) {
            (Some(_), None) => Direction::Narrower,
            (Some((what, flags)), Some((same, more)))
                if what == same && flags.iter().all(|flag| more.contains(flag)) =>
            {
                Direction::Narrower
            }
            _ => Direction::Wider,
        };
        changes.push(change(direction, "files", path, &say(old), &say(new), ""));
    }
    changes
}

/// What is left of the plans once everything above is taken out: nothing, or something new that counts as wider.
fn rest(before: &Plan, after: &Plan) -> Result<Vec<Change>, DiffError> {
    let (was, is) = (left(before)?, left(after)?);
    let mut changes = Vec::new();
    let (Value::Object(was), Value::Object(is)) = (was, is) else { return Ok(changes) };
    for (name, value) in &is {
        let old = was.get(name).unwrap_or(&Value::Null);
        if old == value {
            continue;
        }
        let (area, pointer) = if name == "net" { ("network", "/network") } else { ("plan", "") };
        let none = |value: &Value| value.pointer("/mode").is_some_and(|mode| mode == "none");
        let direction = if name == "net" && none(value) { Direction::Narrower } else { Direction::Wider };
        changes.push(change(direction, area, name, &old.to_string(), &value.to_string(), pointer));
    }
    Ok(changes)
}

fn left(plan: &Plan) -> Result<Value, DiffError> {
    let mut value = serde_json::to_value(plan)?;
    if let Value::Object(map) = &mut value {
        for told in [
            "policy",
            "policy_digest",
            "seccomp",
            "limits",
            "rlimits",
            "mounts",
            "landlock",
            "cgroup",
            "idmap",
        ] {
            map.remove(told);
        }
        if let Some(Value::Object(net)) = map.get_mut("net") {
            net.remove("egress");
        }
        if let Some(Value::Object(payload)) = map.get_mut("payload") {
            payload.remove("environment");
        }
    }
    without_reasons(&mut value);
    Ok(value)
}

fn without_reasons(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("reason");
            map.values_mut().for_each(without_reasons);
        }
        Value::Array(list) => list.iter_mut().for_each(without_reasons),
        _ => {}
    }
}
