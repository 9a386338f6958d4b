//! The environment, and the reasons.

use super::Severity::{Error, Note, Warning};
use super::{Find, Hit, Rule, Subject};
use crate::audit::sentences::within;
use crate::policy::SHIPPED;
use serde_json::Value;
use std::collections::BTreeMap;

/// Names, or beginnings of names that end in `*`, that steer the loader, the C library, the interpreter or TLS.
const STEERING: &[&str] = &[
    "PYTHON*",
    "GLIBC_*",
    "GCONV_PATH",
    "MALLOC_CHECK_",
    "MALLOC_PERTURB_",
    "MALLOC_TRACE",
    "NLSPATH",
    "LOCPATH",
    "HOSTALIASES",
    "RES_OPTIONS",
    "RESOLV_*",
    "OPENSSL_*",
    "SSL_*",
    "SSLKEYLOGFILE",
    "BASH_ENV",
    "ENV",
    "IFS",
    "NODE_OPTIONS",
    "PERL5LIB",
    "PERL5OPT",
    "RUBYOPT",
];

/// Parts of names that secrets have.
const SECRET: &[&str] = &[
    "SECRET",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "API_KEY",
    "APIKEY",
    "PRIVATE_KEY",
    "ACCESS_KEY",
    "CREDENTIAL",
];

/// What the jail sets by itself.
const OWN: &[&str] = &[
    "HOME",
    "TMPDIR",
    "PATH",
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
];

fn variables(s: &Subject<'_>, wrong: impl Fn(&str, &str) -> Option<String>) -> Vec<Hit> {
    let list = s.policy.file().environment.iter().enumerate();
    list.filter_map(|(at, v)| {
        wrong(&v.name, &v.value).map(|what| Hit::policy(&format!("/environment/{at}"), what))
    })
    .collect()
}

fn matches(name: &str, pattern: &str) -> bool {
    pattern.strip_suffix('*').map_or(name == pattern, |beginning| name.starts_with(beginning))
}

/// Every reason of the policy by its pointer, with the value beside it.
fn reasons(value: &Value) -> BTreeMap<String, (String, Value)> {
    let mut found = BTreeMap::new();
    gather(value, "", &mut found);
    found
}

fn gather(value: &Value, at: &str, found: &mut BTreeMap<String, (String, Value)>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(reason)) = map.get("reason") {
                let rest: serde_json::Map<String, Value> = map
                    .iter()
                    .filter(|(name, _)| *name != "reason")
                    .map(|(n, v)| (n.clone(), v.clone()))
                    .collect();
                found.insert(at.to_owned(), (reason.clone(), Value::Object(rest)));
            }
            for (name, inner) in map {
                gather(inner, &format!("{at}/{name}"), found);
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                gather(inner, &format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
}

fn own_reasons(s: &Subject<'_>) -> BTreeMap<String, (String, Value)> {
    serde_json::to_value(s.policy.file()).map(|value| reasons(&value)).unwrap_or_default()
}

fn copied(s: &Subject<'_>) -> Vec<Hit> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (pointer, (reason, _)) in own_reasons(s) {
        places.entry(reason).or_default().push(pointer);
    }
    places
        .into_iter()
        .filter(|(_, pointers)| pointers.len() > 2)
        .filter_map(|(reason, pointers)| {
            Some(Hit::policy(
                pointers.get(2)?,
                format!("{} entries give the reason {reason:?}", pointers.len()),
            ))
        })
        .collect()
}

/// Another value than the shipped default's, with the reason that the default gives for its own.
fn kept(s: &Subject<'_>) -> Vec<Hit> {
    let default = SHIPPED
        .iter()
        .find(|(name, _)| *name == "default")
        .and_then(|(_, text)| serde_json::from_str(text).ok());
    let theirs = default.map(|value: Value| reasons(&value)).unwrap_or_default();
    own_reasons(s)
        .into_iter()
        .filter(|(pointer, (reason, value))| {
            theirs.get(pointer).is_some_and(|(same, other)| same == reason && other != value)
        })
        .map(|(pointer, (reason, _))| {
            Hit::policy(
                &pointer,
                format!("another value than the shipped default's, and its reason: {reason:?}"),
            )
        })
        .collect()
}

fn says_nothing(reason: &str) -> bool {
    let upper = reason.to_uppercase();
    ["TODO", "FIXME", "XXX", "TBD", "WHO NEEDS IT"].iter().any(|word| upper.contains(word))
}

fn empty_words(s: &Subject<'_>) -> Vec<Hit> {
    let short = |reason: &str| reason.trim().chars().count() < 10;
    let own = own_reasons(s).into_iter().filter(|(_, (reason, _))| short(reason) || says_nothing(reason));
    let mut hits: Vec<Hit> = own
        .map(|(pointer, (reason, _))| Hit::policy(&pointer, format!("the reason is {reason:?}")))
        .collect();
    let rules = s.filter.rules().iter().filter(|rule| says_nothing(rule.reason()));
    hits.extend(
        rules.map(|rule| {
            Hit::rule(rule, format!("the reason of {} is {:?}", rule.call().name, rule.reason()))
        }),
    );
    hits
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "SJ-P040",
        name: "environment-steers",
        severity: Error,
        why: "The variable makes the loader, the C library, Python or TLS do something else than what was pinned.",
        source: "CVE-2023-4911 (GLIBC_TUNABLES)",
        fix: "Leave it out; what the pinned Python needs it is given anyway.",
        find: Find::With(|s| {
            variables(s, |name, _| {
                STEERING
                    .iter()
                    .any(|pattern| matches(name, pattern))
                    .then(|| format!("{name} steers what runs"))
            })
        }),
    },
    Rule {
        id: "SJ-P041",
        name: "environment-secret",
        severity: Error,
        why: "A policy is read by reviewers and kept in repositories, and every skill that runs under it gets its variables.",
        source: "",
        fix: "Declare it as KEY= in the .skillenv of the skill that needs it, and hand it over with --secrets.",
        find: Find::With(|s| {
            variables(s, |name, value| {
                (!value.is_empty() && SECRET.iter().any(|part| name.contains(part)))
                    .then(|| format!("{name} looks like a secret"))
            })
        }),
    },
    Rule {
        id: "SJ-P042",
        name: "environment-host-path",
        severity: Warning,
        why: "The path is not in the jail: whoever reads the variable fails with ENOENT.",
        source: "",
        fix: "Name a path of the jail: /workdir, /tmp, /skill, /usr.",
        find: Find::With(|s| {
            let there = ["/workdir", "/tmp", "/skill", "/usr", "/etc", "/dev", "/lib", "/lib64"];
            variables(s, |name, value| {
                (value.starts_with('/') && !there.iter().any(|place| within(value, place)))
                    .then(|| format!("{name} is {value:?}, which is not in the jail"))
            })
        }),
    },
    Rule {
        id: "SJ-P043",
        name: "environment-twice",
        severity: Warning,
        why: "The jail sets this variable itself: which of the two a program sees is up to the program.",
        source: "",
        fix: "Leave it out; threads are limits.compute_threads.",
        find: Find::With(|s| {
            variables(s, |name, _| OWN.contains(&name).then(|| format!("{name} is set by the jail")))
        }),
    },
    Rule {
        id: "SJ-P044",
        name: "reason-copied",
        severity: Note,
        why: "A reason that stands at three places explains none of them.",
        source: "",
        fix: "Say of each who needs it.",
        find: Find::With(copied),
    },
    Rule {
        id: "SJ-P045",
        name: "reason-kept",
        severity: Warning,
        why: "The value was changed and the reason was not: it explains another number.",
        source: "",
        fix: "Say why this value.",
        find: Find::With(kept),
    },
    Rule {
        id: "SJ-P046",
        name: "reason-says-nothing",
        severity: Warning,
        why: "A reviewer who cannot see who needs a permission cannot judge it.",
        source: "",
        fix: "Say who needs it, and for what.",
        find: Find::With(empty_words),
    },
];
