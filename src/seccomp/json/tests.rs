//! Each thing that a filter can get wrong, and that the message says what, where and what to do.

use super::*;

const GOOD: &str = r#"{
  "version": 1,
  "about": "a test",
  "default": { "action": "errno", "errno": "ENOSYS", "reason": "newer than the list" },
  "mismatch": { "action": "notify", "reason": "other arguments" },
  "groups": [
    { "group": "g", "action": "allow", "reason": "needed", "calls": [
      { "call": "read", "reason": "reads" },
      { "call": "kill", "when": [{ "arg": "sig", "ne": "SIGSYS" }], "reason": "signals" },
      { "call": "ioctl", "when": [{ "arg": "cmd", "in": ["TCGETS", 0] }], "reason": "terminals" }
    ] },
    { "group": "d", "action": "notify", "reason": "dangerous", "calls": ["ptrace"] }
  ],
  "guarantees": ["never ptrace"]
}"#;

fn read(text: &str) -> Result<Filter, FilterError> {
    parse("t.json", text, &|name| (name == "good").then_some(GOOD))
}

/// The message for GOOD with one part replaced.
fn broken(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "the test replaces nothing: {from}");
    read(&GOOD.replacen(from, to, 1)).expect_err("the filter was accepted").to_string()
}

fn says(from: &str, to: &str, words: &[&str]) {
    let message = broken(from, to);
    for word in words {
        assert!(message.contains(word), "{word:?} is not in: {message}");
    }
}

#[test]
fn a_good_filter_is_read_with_its_places() {
    let filter = read(GOOD).expect("good");
    let names: Vec<&str> = filter.rules().iter().map(|r| r.call().name.as_str()).collect();
    assert_eq!(names, ["ioctl", "kill", "ptrace", "read"]);
    let kill = filter.rules_of("kill").next().expect("listed");
    assert_eq!(kill.place().to_string(), "t.json:9 (/groups/0/calls/1)");
    assert_eq!((kill.group(), kill.reason()), ("g", "signals"));
    assert_eq!(filter.rules_of("ptrace").next().expect("listed").reason(), "dangerous");
}

#[test]
fn every_shipped_call_is_known_on_some_architecture() {
    let table = Table::parse(super::super::syscalls::SOURCE).expect("compiled in");
    assert!(table.calls().len() > 380);
    assert!(
        table.calls().iter().all(|c| super::super::filter::Arch::ALL.iter().any(|a| c.number(*a).is_some()))
    );
}

#[test]
fn an_unknown_name_is_an_error_with_near_misses() {
    says("\"read\"", "\"raed\"", &["t.json:8", "/groups/0/calls/0", "\"raed\"", "did you mean read"]);
    says("[\"ptrace\"]", "[\"ptrase\"]", &["no architecture", "hint: did you mean ptrace"]);
    says("\"SIGSYS\"", "\"SIGSYZ\"", &["neither a number nor a constant", "SIGSYS"]);
    says("\"arg\": \"sig\"", "\"arg\": \"sog\"", &["kill has no argument \"sog\"", "did you mean sig"]);
    says("\"arg\": \"sig\"", "\"arg\": \"zzzzz\"", &["its arguments are: pid, sig"]);
    says("ENOSYS", "ENOSIS", &["/default", "did you mean ENOSYS"]);
}

#[test]
fn an_empty_list_is_an_error() {
    says("[\"ptrace\"]", "[]", &["/groups/1", "lists no call"]);
    says("[\"TCGETS\", 0]", "[]", &["/groups/0/calls/2/when/0", "lists no value", "allows nothing"]);
    says("[{ \"arg\": \"sig\", \"ne\": \"SIGSYS\" }]", "[]", &["`when` is empty", "leave `when` out"]);
    let text = r#"{"version":1,"about":"","default":{"action":"errno","errno":"ENOSYS","reason":"r"},
        "mismatch":{"action":"notify","reason":"r"},"groups":[]}"#;
    assert!(read(text).expect_err("accepted").to_string().contains("there is no group"));
}

#[test]
fn an_empty_reason_is_an_error() {
    says("\"reason\": \"reads\"", "\"reason\": \" \"", &["t.json:8", "the reason is empty"]);
    says("\"reason\": \"dangerous\"", "\"reason\": \"\"", &["the group's reason is empty"]);
    says("\"reason\": \"other arguments\"", "\"reason\": \"\"", &["/mismatch"]);
    says(", \"reason\": \"reads\"", "", &["read has no reason of its own", "who needs the call"]);
    says("\"never ptrace\"", "\"\"", &["/guarantees/0", "is empty"]);
}

#[test]
fn a_call_that_is_listed_twice_is_an_error() {
    let twice = |with: &str| says("[\"ptrace\"]", &format!("[\"ptrace\", {with}]"), &["listed twice"]);
    twice("\"ptrace\"");
    twice("\"read\"");
    twice("\"kill\"");
    twice(r#"{ "call": "read", "when": [{ "arg": "fd", "eq": 0 }] }"#);
    twice(r#"{ "call": "kill", "when": [{ "arg": "sig", "ne": 31 }] }"#);
    says("[\"ptrace\"]", "[\"kill\"]", &["with and without conditions", "the other is at t.json:9"]);
    says("\"group\": \"d\"", "\"group\": \"g\"", &["the group \"g\" is there twice"]);
}

#[test]
fn several_rules_with_different_conditions_are_alternatives() {
    let text = GOOD.replace("[\"ptrace\"]", r#"[{ "call": "kill", "when": [{ "arg": "pid", "eq": -1 }] }]"#);
    let text = text.replace("never ptrace", "never fork");
    let filter = read(&text).expect("good");
    let arch = super::super::filter::Arch::X86_64;
    let nr = Table::builtin().named("kill").and_then(|c| c.number(arch)).expect("there");
    let act = |pid: u64, sig| filter.decide(arch, nr, &[pid, sig, 0, 0, 0, 0]).1;
    assert_eq!(act(5, 9), Action::Allow);
    assert_eq!(act(5, 31), Action::Notify);
    assert_eq!(act(u64::from(u32::MAX), 9), Action::Notify, "the strictest wins");
    assert_eq!(act(0xdead_0000_ffff_ffff, 9), Action::Notify, "an int's upper half is noise");
}

#[test]
fn conditions_that_cannot_hold_or_do_not_fit_are_errors() {
    let sig = "\"ne\": \"SIGSYS\"";
    says(sig, "\"ne\": 4294967296", &["does not fit the argument's 32 bits"]);
    says(sig, "\"ne\": -2147483649", &["does not fit"]);
    says(sig, "\"lt\": 0", &["can never hold"]);
    says(sig, "\"gt\": 4294967295", &["can never hold"]);
    says(sig, "\"mask\": 3, \"eq\": 4", &["outside the mask"]);
    says(sig, "\"mask\": 0, \"eq\": 0", &["mask of 0"]);
    says(sig, "\"mask\": 3, \"lt\": 2", &["`mask` goes with eq and in only"]);
    says(sig, "\"ne\": 1, \"eq\": 2", &["exactly one of"]);
    says(", \"ne\": \"SIGSYS\"", "", &["exactly one of"]);
    says("[\"TCGETS\", 0]", "[\"TCGETS\", \"0x5401\"]", &["0x5401 is listed twice"]);
}

#[test]
fn actions_are_a_closed_list() {
    says("\"action\": \"allow\"", "\"action\": \"allwo\"", &["no action \"allwo\"", "kill_process"]);
    says("\"action\": \"allow\"", "\"action\": \"allow\", \"errno\": \"EPERM\"", &["does not go with"]);
    says("\"errno\": \"ENOSYS\", ", "", &["needs an `errno`"]);
    says("\"action\": \"errno\", \"errno\": \"ENOSYS\"", "\"action\": \"allow\"", &["cannot be allowed"]);
    says(
        "\"action\": \"notify\", \"reason\": \"other",
        "\"action\": \"allow\", \"reason\": \"other",
        &["/mismatch"],
    );
}

#[test]
fn the_shape_is_closed() {
    says("\"version\": 1", "\"version\": 2", &["version 2", "reads version 1"]);
    says("\"about\"", "\"abuot\"", &["not a filter", "abuot"]);
    says("\"reason\": \"reads\"", "\"raeson\": \"reads\"", &["not a filter", "raeson", "line 8"]);
    says("\"call\": \"read\"", "\"call\": \"read\", \"call\": \"write\"", &["duplicate field"]);
    says("[\"ptrace\"]", "[7]", &["the name of a system call"]);
    says("\"ne\": \"SIGSYS\"", "\"ne\": 1.5", &["an integer"]);
    says("\"version\": 1,", "", &["missing field `version`"]);
    says(
        "\"default\": { \"action\": \"errno\", \"errno\": \"ENOSYS\", \"reason\": \"newer than the list\" },",
        "",
        &["`default` and `mismatch` are required"],
    );
    let long = format!("{}{GOOD}", " ".repeat(MAX_BYTES));
    assert!(read(&long).expect_err("accepted").to_string().contains("bytes are more than"));
}

#[test]
fn a_filter_builds_upon_a_shipped_one() {
    let text = r#"{"version": 1, "base": "good", "about": "less",
        "without": [{"call": "kill", "reason": "no signals"}, {"call": "ioctl", "reason": "see group"}],
        "groups": [{"group": "more", "action": "allow", "reason": "r", "calls": [
            {"call": "ioctl", "when": [{"arg": "cmd", "eq": "FIONREAD"}], "reason": "r"}]}]}"#;
    let filter = read(text).expect("good");
    let kill: Vec<&Rule> = filter.rules_of("kill").collect();
    assert_eq!((kill.len(), kill[0].action(), kill[0].reason()), (1, Action::Notify, "no signals"));
    assert_eq!(kill[0].place().file, "t.json");
    assert_eq!(filter.rules_of("ioctl").count(), 1);
    assert_eq!(filter.rules_of("read").next().expect("the base's").place().file, "seccomp/good.json");
    assert_eq!(filter.guarantees(), ["never ptrace"], "what the base promises is promised here too");
    let wrong = |from: &str, to: &str, word: &str| {
        let message = read(&text.replacen(from, to, 1)).expect_err("accepted").to_string();
        assert!(message.contains(word), "{message}");
    };
    wrong("\"good\"", "\"bad\"", "no shipped filter \"bad\"");
    wrong("\"kill\"", "\"write\"", "the base has no rule for write");
    wrong("\"ioctl\", \"reason\": \"see", "\"kill\", \"reason\": \"see", "the base has no rule for kill");
    wrong("\"no signals\"", "\"\"", "the reason is empty");
    let nested = |name: &str| match name {
        "outer" => Some(text),
        _ => Some(GOOD),
    };
    let text = text.replacen("\"good\"", "\"outer\"", 1);
    assert!(parse("t.json", &text, &nested).expect_err("accepted").to_string().contains("base of its own"));
}

#[test]
fn numbers_are_names_sums_and_complements() {
    use super::super::syscalls::Width;
    let value = |text| values::expression(Width::W32, text).ok();
    assert_eq!(value("PROT_READ|PROT_WRITE"), Some(3));
    assert_eq!(value("0x10 | 1"), Some(0x11));
    assert_eq!(value("~(1|2)"), Some(0xffff_fffc));
    assert_eq!(values::expression(Width::W64, "~1").ok(), Some(!1));
    for wrong in
        ["", "|", "1|", "0x", "-1", "1 2", "~~1", "0x1_0", "prot_read", "+1", "0x+1", "~1|2", "~(1", "~1)"]
    {
        assert_eq!(value(wrong), None, "{wrong:?}");
    }
}
