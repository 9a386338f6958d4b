//! Differences by meaning.

use super::schema;
use super::trial::{Trial, json, policy, value};
use serde_json::{Value, json as j};

fn changes(diff: &Value) -> Vec<(String, String)> {
    let word = |change: &Value, name: &str| change[name].as_str().unwrap().to_owned();
    diff["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (word(c, "direction"), format!("{} {}", word(c, "area"), word(c, "subject"))))
        .collect()
}

fn diff(old: &str, new: &str) -> Value {
    value(&["diff", old, new, "--format", "json"])
}

#[test]
fn words_order_and_form_never_show() {
    let trial = Trial::new()
        .set("/description", "Something else.")
        .set("/limits/wall/reason", "Another reason, which changes nothing.")
        .edit(|policy| policy["devices"].as_array_mut().unwrap().reverse())
        .edit(|policy| policy["environment"].as_array_mut().unwrap().reverse())
        .filter(|filter| {
            filter["about"] = "Other words.".into();
            filter["groups"].as_array_mut().unwrap().reverse();
            for group in filter["groups"].as_array_mut().unwrap() {
                group["reason"] = "another reason".into();
                group["calls"].as_array_mut().unwrap().reverse();
            }
        })
        .set("/guarantees", json("policies/default.json")["guarantees"].clone());
    let printed = policy(&["diff", "default", &trial.word()]);
    assert_eq!(
        (printed.code, printed.out.as_str()),
        (0, "equal: the new policy lets through exactly what the old one does\n"),
        "{}",
        printed.err
    );
}

#[test]
fn a_call_that_is_let_through_is_wider_and_has_a_witness_that_is_true() {
    let trial = Trial::new().allow(
        j!({"call": "ptrace", "when": [{"arg": "request", "in": [0, 16]}], "reason": "for this trial"}),
    );
    let word = trial.word();
    let found = diff("default", &word);
    let change = &found["changes"][0];
    assert_eq!(
        (change["direction"].as_str(), change["subject"].as_str()),
        (Some("wider"), Some("ptrace")),
        "{found:#}"
    );
    assert_eq!(change["when"], j!(["request = 0", "request = 16"]));
    assert_eq!(change["architectures"], j!(["x86_64", "aarch64"]));
    // Both programs, run on the witness.
    let data = |witness: &Value| {
        let number = u32::try_from(witness["number"].as_u64().unwrap()).unwrap();
        let args: Vec<u64> = witness["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(|a| u64::from_str_radix(&a.as_str().unwrap()[2..], 16).unwrap())
            .collect();
        skilljail::seccomp::bpf::Data::new(
            skilljail::seccomp::Arch::X86_64.audit(),
            number,
            &args.try_into().unwrap(),
        )
    };
    let run = |word: &str| {
        let policy = skilljail::policy::Policy::load(word).unwrap();
        let program = policy.filter().program_for(skilljail::seccomp::Arch::X86_64).to_vec();
        skilljail::seccomp::bpf::run(&program, &data(&change["witness"])).unwrap()
    };
    assert_eq!(run(&word), 0x7fff_0000);
    assert_ne!(run("default"), 0x7fff_0000);
    let codes = [
        policy(&["diff", "default", &word]).code,
        policy(&["diff", "default", &word, "--allow-wider"]).code,
        policy(&["diff", &word, "default"]).code,
    ];
    assert_eq!(codes, [10, 0, 0]);
}

#[test]
fn the_set_is_exact_for_masks_and_ranges() {
    // One bit of a mask less: exactly the mappings with that bit come in.
    let trial = Trial::new().filter(|filter| {
        for group in filter["groups"].as_array_mut().unwrap() {
            for call in group["calls"].as_array_mut().unwrap() {
                if call["call"] == "chmod" {
                    call["when"][0]["mask"] = "S_ISUID".into();
                }
            }
        }
    });
    let found = diff("default", &trial.word());
    let wider: Vec<&Value> =
        found["changes"].as_array().unwrap().iter().filter(|c| c["direction"] == "wider").collect();
    assert_eq!(wider.len(), 1, "{found:#}");
    assert_eq!((wider[0]["subject"].as_str(), &wider[0]["architectures"]), (Some("chmod"), &j!(["x86_64"])));
    assert_eq!(wider[0]["when"].as_array().unwrap().len(), 1, "{found:#}");
    let when = wider[0]["when"][0].as_str().unwrap();
    assert_eq!(when, "mode & (0o4000) = 0 and mode & (0o6000) != 0");
}

#[test]
fn everything_else_in_its_own_terms() {
    let cases: Vec<(Trial, &str, &str)> = vec![
        (Trial::new().set("/limits/memory/value", "1 GiB"), "wider", "limits memory"),
        (Trial::new().set("/limits/memory/value", "256 MiB"), "narrower", "limits memory"),
        (Trial::new().set("/limits/wall/max", "300 s"), "wider", "limits wall.max"),
        (Trial::new().set("/limits/denials_kept/value", 65), "other", "limits denials_kept"),
        (Trial::new().set("/limits/shm/value", "0 B"), "narrower", "limits shm"),
        (Trial::new().set("/contract", "optional"), "wider", "contract xray.json"),
        (Trial::new().set("/cgroup/mode", "required"), "narrower", "cgroup a delegated cgroup"),
        (Trial::new().set("/landlock/require_abi", 1), "wider", "landlock require_abi"),
        (Trial::new().set("/landlock/target_abi", 6), "wider", "landlock target_abi"),
        (Trial::new().set("/landlock/require_abi", 4), "narrower", "landlock require_abi"),
        (Trial::new().set("/outer_ids/first", 100_000), "wider", "ids outer ids"),
        (Trial::new().set("/outer_ids/count", 100), "narrower", "ids outer ids"),
        (Trial::new().set("/runtime", j!({"digest": "aa"})), "narrower", "runtime the pinned Python"),
        (
            Trial::new().edit(|p| drop(p["devices"].as_array_mut().unwrap().remove(2))),
            "narrower",
            "devices full",
        ),
        (
            Trial::new().edit(|p| {
                p["environment"]
                    .as_array_mut()
                    .unwrap()
                    .push(j!({"name": "MODE", "value": "x", "reason": "for this trial"}))
            }),
            "wider",
            "environment MODE",
        ),
        (Trial::new().set("/environment/1/value", "CET"), "wider", "environment TZ"),
        (
            Trial::new().edit(|p| drop(p["guarantees"].as_array_mut().unwrap().pop())),
            "other",
            "guarantees never prlimit64(new_limit!=NULL)",
        ),
    ];
    for (trial, direction, subject) in cases {
        let found = diff("default", &trial.word());
        assert_eq!(changes(&found), [(direction.to_owned(), subject.to_owned())], "{found:#}");
        let code = policy(&["diff", "default", &trial.word()]).code;
        assert_eq!(code, if direction == "wider" { 10 } else { 0 }, "{subject}");
    }
}

#[test]
fn the_shipped_policies_differ_as_they_say() {
    assert_eq!(policy(&["diff", "default", "strict"]).code, 0);
    let wider = diff("default", "tfrobot");
    let areas = ["limits", "contract", "seccomp", "network", "guarantees", "files", "environment"];
    for (_, what) in changes(&wider) {
        assert!(areas.iter().any(|area| what.starts_with(&format!("{area} "))), "{what}: {wider:#}");
    }
    let reached = ("wider".to_owned(), "network every public address, port 443".to_owned());
    assert!(changes(&wider).contains(&reached), "{wider:#}");
    // A name more is wider, one less narrower; what holds back is the other way round.
    let names = json("policies/egress.json");
    let trial = |edit: &dyn Fn(&mut Value)| {
        Trial::new().edit(|policy| {
            *policy = names.clone();
            policy["name"] = "trial".into();
            edit(&mut policy["egress"]);
        })
    };
    let less = trial(&|egress| {
        egress["allow"].as_array_mut().unwrap().truncate(1);
        egress["deny"] = j!([{"network": "198.97.190.0/24", "reason": "ours"}]);
        egress["max_bytes"]["value"] = "1 MiB".into();
    });
    let narrower = diff("egress", &less.word());
    assert_eq!(narrower["wider"], false, "{narrower:#}");
    assert_eq!(changes(&narrower).len(), 3, "{narrower:#}");
    let back = diff(&less.word(), "egress");
    assert!(changes(&back).iter().all(|(direction, _)| direction == "wider"), "{back:#}");
    // Of what was allowed by a wildcard one name is less, and of what was denied a larger network more.
    let wild = trial(&|egress| {
        egress["allow"] = j!([{"name": "*.example.org", "ports": [443], "reason": "r"}]);
        egress["deny"] = j!([{"network": "8.8.4.0/25", "reason": "r"}]);
    });
    let one = trial(&|egress| {
        egress["allow"] = j!([{"name": "api.example.org", "ports": [443], "reason": "r"}]);
        egress["deny"] = j!([{"network": "8.8.4.0/24", "reason": "r"}]);
    });
    let (down, up) = (diff(&wild.word(), &one.word()), diff(&one.word(), &wild.word()));
    assert_eq!((&down["wider"], &up["wider"]), (&j!(false), &j!(true)), "{down:#} {up:#}");
    assert!(changes(&down).contains(&("narrower".to_owned(), "network *.example.org:443".to_owned())));
    assert!(changes(&up).contains(&("wider".to_owned(), "network 8.8.4.0/24".to_owned())), "{up:#}");
    let unread = trial(&|egress| egress["sni"] = "off".into());
    assert_eq!(diff("egress", &unread.word())["wider"], true);
}

#[test]
fn sarif_is_valid_and_points_into_the_file() {
    let trial = Trial::new()
        .set("/limits/memory/value", "1 GiB")
        .allow(j!({"call": "ptrace", "reason": "for this trial"}));
    let word = trial.word();
    let log = value(&["diff", "default", &word, "--format", "sarif"]);
    assert_eq!(
        schema::check(&json("tests/fixtures/sarif/sarif-schema-2.1.0.json"), &log),
        Vec::<String>::new()
    );
    let results = log["runs"][0]["results"].as_array().unwrap();
    let errors: Vec<&Value> = results.iter().filter(|result| result["level"] == "error").collect();
    assert_eq!(errors.len(), 2, "{log:#}");
    for result in errors {
        let place = &result["locations"][0]["physicalLocation"];
        let path =
            place["artifactLocation"]["uri"].as_str().unwrap().trim_start_matches("file://").to_owned();
        let line = usize::try_from(place["region"]["startLine"].as_u64().unwrap()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let found = text.lines().skip(line - 1).take(2).collect::<Vec<_>>().join("\n");
        assert!(found.contains("memory") || found.contains("ptrace"), "{path}:{line}: {found}");
    }
    let allowed = value(&["diff", "default", &word, "--format", "sarif", "--allow-wider"]);
    assert!(
        allowed["runs"][0]["results"].as_array().unwrap().iter().all(|result| result["level"] != "error")
    );
}

#[test]
fn markdown_is_a_comment() {
    let trial = Trial::new().allow(j!({"call": "ptrace", "reason": "a|b <b>"}));
    let text = policy(&["diff", "default", &trial.word(), "--format", "markdown"]).out;
    assert!(text.starts_with("### `skilljail policy diff`: WIDER: 1 wider"), "{text}");
    assert!(
        text.contains("| seccomp ptrace | notify (EPERM) | allow |") && text.contains("a\\|b &lt;b"),
        "{text}"
    );
}
