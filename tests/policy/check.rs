//! Each rule of `policy check`: a policy that breaks it and one that does not.

use super::schema;
use super::trial::{Trial, json, policy, value};
use serde_json::{Value, json as j};
use skilljail::audit::{lint, representative};
use skilljail::layer::landlock::{Grant, Rule};
use skilljail::policy::Policy;
use std::collections::BTreeSet;

fn found(trial: &Trial) -> Vec<Value> {
    let checked = value(&["check", &trial.word(), "--format", "json"]);
    checked["policies"][0]["findings"].as_array().unwrap().clone()
}

fn allow(name: &str) -> Trial {
    Trial::new().allow(j!({"call": name, "reason": "for this trial"}))
}

fn allow_when(name: &str, when: Value) -> Trial {
    Trial::new().allow(j!({"call": name, "when": when, "reason": "for this trial"}))
}

fn variable(name: &str, value: &str) -> Trial {
    let variable = j!({"name": name, "value": value, "reason": "a variable of this trial"});
    Trial::new().edit(|policy| policy["environment"].as_array_mut().unwrap().push(variable))
}

/// A policy that breaks each rule; SJ-P023 no policy file can break (see below).
/// The default policy with the shipped egress part, changed.
fn egress(change: impl FnOnce(&mut Value)) -> Trial {
    let mut shipped = super::trial::json("policies/egress.json");
    change(&mut shipped["egress"]);
    Trial::new().edit(|policy| {
        for key in ["egress", "network", "filter", "guarantees"] {
            policy[key] = shipped[key].clone();
        }
    })
}

fn public(egress: &mut Value) {
    egress["mode"] = "public".into();
    egress["ports"] = j!([{"port": 443, "reason": "for this trial"}]);
    egress.as_object_mut().unwrap().remove("allow");
}

fn failing() -> Vec<(&'static str, Trial)> {
    let socket = || allow("socket");
    vec![
        ("SJ-P001", Trial::new().set("/limits/memroy", 1)),
        ("SJ-P002", Trial::new().set("/limits/workdir/value", "513 MiB")),
        ("SJ-P003", Trial::new().set("/limits/cpu/value", "7681 s")),
        ("SJ-P004", Trial::new().set("/limits/file/value", "129 MiB")),
        ("SJ-P005", Trial::new().set("/limits/artifact/value", "33 MiB")),
        ("SJ-P006", Trial::new().set("/limits/artifacts/value", 0)),
        ("SJ-P007", Trial::new().set("/limits/in_files/value", 0)),
        ("SJ-P008", Trial::new().set("/limits/denials/value", 63)),
        ("SJ-P009", Trial::new().set("/limits/open_files/value", 257)),
        ("SJ-P010", Trial::new().set("/limits/wall/max", "11 m")),
        ("SJ-P011", Trial::new().set("/limits/stdout/value", "17 MiB")),
        ("SJ-P012", Trial::new().set("/limits/memory/value", "128 MiB")),
        ("SJ-P013", Trial::new().set("/limits/compute_threads/value", 11)),
        ("SJ-P014", Trial::new().set("/filter", "strict")),
        ("SJ-P015", Trial::new().set("/limits/threads/value", 1)),
        ("SJ-P016", Trial::new().set("/limits/denials/value", 65_537)),
        ("SJ-P017", Trial::new().set("/limits/workdir_inodes/value", 262_145)),
        ("SJ-P018", Trial::new().set("/limits/stdout/value", "0 B").set("/limits/artifacts/value", 0)),
        ("SJ-P020", Trial::new().set("/landlock/require_abi", 1)),
        ("SJ-P021", Trial::new().set("/landlock/target_abi", 5)),
        ("SJ-P022", socket()),
        ("SJ-P024", Trial::new().set("/outer_ids/first", 100_000)),
        ("SJ-P025", Trial::new().set("/outer_ids/count", 63)),
        ("SJ-P026", Trial::new().set("/contract", "optional")),
        ("SJ-P027", Trial::new().set("/limits/workdir/value", "3 GiB")),
        ("SJ-P028", socket()),
        ("SJ-P029", Trial::new().edit(|policy| drop(policy["devices"].as_array_mut().unwrap().remove(0)))),
        ("SJ-P030", Trial::new().set("/guarantees", j!([]))),
        ("SJ-P031", Trial::new().set("/name", "default").set("/limits/wall/max", "2 m")),
        ("SJ-P032", Trial::new().file("other.json")),
        ("SJ-P040", variable("GLIBC_TUNABLES", "glibc.malloc.check=1")),
        ("SJ-P041", variable("SERVICE_API_KEY", "abc")),
        ("SJ-P042", variable("MODELS", "/srv/models")),
        ("SJ-P043", variable("OMP_NUM_THREADS", "4")),
        ("SJ-P044", Trial::new().edit(|policy| (0..3).for_each(|at| policy["devices"][at]["reason"] = "Programs open it.".into()))),
        ("SJ-P045", Trial::new().edit(|policy| policy["limits"]["shm"]["value"] = "17 MiB".into())),
        ("SJ-P046", Trial::new().set("/limits/shm/reason", "TODO say why")),
        ("SJ-P050", allow("ptrace")),
        ("SJ-P051", allow("unshare")),
        ("SJ-P052", allow("fsconfig")),
        ("SJ-P053", allow("bpf")),
        ("SJ-P054", allow("io_uring_setup")),
        ("SJ-P055", allow("userfaultfd")),
        ("SJ-P056", allow("perf_event_open")),
        ("SJ-P057", allow("add_key")),
        ("SJ-P058", allow("open_by_handle_at")),
        ("SJ-P059", allow("finit_module")),
        ("SJ-P060", allow("personality")),
        ("SJ-P061", allow_when("socket", j!([{"arg": "domain", "in": ["AF_INET", "AF_VSOCK"]}]))),
        ("SJ-P062", allow_when("ioctl", j!([{"arg": "cmd", "in": ["TCGETS", "TIOCSTI"]}]))),
        ("SJ-P063", allow("mprotect")),
        ("SJ-P064", allow("clone3")),
        ("SJ-P065", allow("memfd_create")),
        ("SJ-P066", allow("execve")),
        ("SJ-P067", allow("fork")),
        ("SJ-P068", allow("kill")),
        ("SJ-P069", allow("flock")),
        ("SJ-P070", allow_when("setsockopt", j!([{"arg": "level", "eq": "SOL_SOCKET"}]))),
        ("SJ-P071", allow("splice")),
        ("SJ-P072", allow("prlimit64")),
        ("SJ-P073", allow("setuid")),
        ("SJ-P074", allow("seccomp")),
        ("SJ-P075", allow("shmget")),
        ("SJ-P076", Trial::new().filter(|filter| {
            super::trial::remove(filter, "clone3");
            filter["groups"].as_array_mut().unwrap().push(j!({"group": "trial", "action": "notify", "reason": "for this trial", "calls": ["clone3"]}));
        })),
        ("SJ-P077", Trial::new().filter(|filter| filter["default"] = j!({"action": "notify", "reason": "for this trial"}))),
        ("SJ-P078", allow("prctl")),
        ("SJ-P079", Trial::new().filter(|filter| {
            let entry = j!({"call": "socket", "when": [{"arg": "domain", "eq": "AF_UNIX"}, {"arg": "type", "eq": "SOCK_DGRAM|SOCK_CLOEXEC"}], "reason": "behind the one that refuses it"});
            filter["groups"][0]["calls"].as_array_mut().unwrap().push(entry);
        })),
        ("SJ-P090", egress(|egress| egress["allow"][0]["name"] = "*.example.org".into())),
        ("SJ-P091", egress(public)),
        ("SJ-P092", egress(|egress| egress["allow"][0]["ports"] = j!([80]))),
        ("SJ-P093", egress(|egress| egress["sni"] = "log".into())),
        ("SJ-P094", egress(|egress| egress["allow"] = j!([]))),
        ("SJ-P080", Trial::new().filter(|filter| filter["mismatch"] = j!({"action": "errno", "errno": "EPERM", "reason": "for this trial"}))),
    ]
}

#[test]
fn every_rule_finds_what_it_is_for_at_a_line_that_is_there() {
    let mut tried = BTreeSet::from(["SJ-P023"]);
    for (id, trial) in failing() {
        let findings = found(&trial);
        let hit = findings.iter().find(|finding| finding["rule"] == id);
        let hit = hit.unwrap_or_else(|| panic!("{id} is not in {findings:#?}"));
        let path = hit["path"].as_str().unwrap();
        let lines =
            std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{id}: {path}: {e}")).lines().count();
        let line = hit["line"].as_u64().unwrap();
        assert!((1..=lines as u64).contains(&line), "{id}: {path}:{line} of {lines}");
        assert!(!hit["why"].as_str().unwrap().is_empty() && !hit["fix"].as_str().unwrap().is_empty());
        tried.insert(id);
    }
    let all: BTreeSet<&str> = lint::rules().map(|rule| rule.id).collect();
    assert_eq!(tried, all);
    assert!(all.len() >= 60, "{}", all.len());
}

/// The other half of the table: the trial that changes nothing breaks no rule, and neither do the shipped policies.
#[test]
fn no_rule_finds_anything_where_nothing_is_wrong() {
    assert_eq!(found(&Trial::new()), Vec::<Value>::new());
    let with_a_filter = Trial::new().filter(|_| {});
    assert_eq!(found(&with_a_filter), Vec::<Value>::new());
    let checked =
        value(&["check", "default", "strict", "tfrobot", "egress", "egress-public", "--format", "json"]);
    let rules: Vec<Vec<&str>> = checked["policies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|policy| {
            policy["findings"]
                .as_array()
                .unwrap()
                .iter()
                .map(|finding| finding["rule"].as_str().unwrap())
                .collect()
        })
        .collect();
    // tfrobot's contract is optional by its protocol, and its network public as that of egress-public.
    assert_eq!(
        rules,
        [vec![], vec![], vec!["SJ-P091", "SJ-P026"], vec![], vec!["SJ-P091", "SJ-P092"]],
        "{checked:#}"
    );
}

/// No file can say it, so the plan is made up.
#[test]
fn a_place_to_write_that_may_be_executed_is_found() {
    let policy = Policy::load("default").unwrap();
    let filter = policy.filter().filter().unwrap();
    let mut plan = representative::wanted(&policy).unwrap();
    let rules = |plan: &skilljail::plan::Plan| -> Vec<&'static str> {
        lint::check("default", &policy, plan, filter)
            .into_iter()
            .map(|finding| finding.rule)
            .collect::<Vec<_>>()
    };
    assert_eq!(rules(&plan), Vec::<&str>::new());
    plan.landlock.rules.push(Rule {
        path: "/workdir/tool".to_owned(),
        grant: Grant::Execute,
        reason: "made up".to_owned(),
    });
    assert_eq!(rules(&plan), ["SJ-P023"]);
}

#[test]
fn exit_codes_follow_the_severity_that_is_denied() {
    let (error, warning, note) = (
        variable("GLIBC_TUNABLES", "x"),
        Trial::new().set("/limits/wall/max", "11 m"),
        Trial::new().file("other.json"),
    );
    let code = |trial: &Trial, deny: &[&str]| policy(&[&["check", &trial.word()], deny].concat()).code;
    assert_eq!([code(&error, &[]), code(&warning, &[]), code(&note, &[])], [1, 0, 0]);
    assert_eq!([code(&warning, &["--deny", "warnings"]), code(&note, &["--deny", "warnings"])], [1, 0]);
    assert_eq!([code(&warning, &["--deny", "notes"]), code(&note, &["--deny", "notes"])], [1, 1]);
    assert_eq!(
        [
            code(&note, &["--deny", "SJ-P032"]),
            code(&note, &["--deny", "sj-p010"]),
            code(&note, &["--deny", "SJ-P9"])
        ],
        [1, 0, 2]
    );
}

#[test]
fn sarif_is_valid_and_junit_counts() {
    let trial = Trial::new().set("/limits/wall/max", "11 m").file("other.json");
    let word = trial.word();
    let log = value(&["check", &word, "default", "--format", "sarif"]);
    assert_eq!(
        schema::check(&json("tests/fixtures/sarif/sarif-schema-2.1.0.json"), &log),
        Vec::<String>::new()
    );
    let results = log["runs"][0]["results"].as_array().unwrap();
    let levels: Vec<&str> = results.iter().map(|result| result["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["warning", "note"]);
    let junit = policy(&["check", &word, "--format", "junit", "--deny", "warnings"]).out;
    let count = lint::rules().count();
    assert!(junit.contains(&format!("tests=\"{count}\" failures=\"1\"")), "{junit}");
    assert!(junit.contains("name=\"SJ-P010 wall-very-long\">\n      <failure message="), "{junit}");
}

#[test]
fn a_rule_explains_itself() {
    let printed = policy(&["check", "--explain", "sj-p040"]);
    assert_eq!(printed.code, 0);
    assert!(printed.out.contains("CVE-2023-4911") && printed.out.contains("Fix: "), "{}", printed.out);
    let unknown = policy(&["check", "--explain", "SJ-P999"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("rules look like SJ-P"), "{}", unknown.err);
}

#[test]
fn the_schema_is_the_committed_one() {
    assert_eq!(value(&["schema"]), json("policies/policy.schema.json"));
}
