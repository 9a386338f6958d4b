//! From what was seen after an attack to a verdict. What counts as an escape is what happened to a canary; how the kernel
//! answered only says whether an attack that was contained ended as its case expects.

use super::case::Expect;
use serde::Deserialize;
use serde_json::Value;

/// What was seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// The result document; none: there was none.
    pub document: Option<Value>,
    /// Texts that came out of the jail, with what they are.
    pub texts: Vec<(String, String)>,
    /// What happened to canaries.
    pub touched: Vec<String>,
    /// Canaries that could not have told anything.
    pub dead: Vec<String>,
    /// The run did not end in time; milliseconds that it was given.
    pub hung: Option<u64>,
    /// What the program itself said on stderr, for people.
    pub said: String,
}

/// What became of an attack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No canary was touched; how it ended.
    Contained {
        /// `EPERM`, `SIGSYS`, `timeout`, `absent` …
        how: String,
        /// Whether the case expects that.
        expected: bool,
    },
    /// A canary was reached: each in words.
    Escaped(Vec<String>),
    /// Nothing was shown: the attack did not come to its try, or a canary was dead.
    Unclear(String),
}

/// A line that an attack prints.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line {
    refused: Option<String>,
    absent: Option<String>,
    fault: Option<String>,
    step: String,
}

/// Judges. `secrets` must be in nothing that came out, `proof` is what a script prints that reached something.
pub fn judge(expect: &Expect, proof: &str, secrets: &[(String, String)], seen: &Seen) -> Verdict {
    let mut reached = seen.touched.clone();
    if let Some(millis) = seen.hung {
        reached.push(format!("the run had not ended after {millis} ms"));
    }
    for (what, text) in &seen.texts {
        if text.contains(proof) {
            let line = text.lines().find(|line| line.contains(proof)).unwrap_or_default();
            reached.push(format!("{what} has the proof: {}", short(&line.replace(proof, "…"))));
        }
        for (whose, secret) in secrets {
            if text.contains(secret.as_str()) {
                reached.push(format!("{what} has a secret: {whose}"));
            }
        }
    }
    if !reached.is_empty() {
        return Verdict::Escaped(reached);
    }
    let Some(document) = &seen.document else {
        return Verdict::Unclear(format!("there is no result document: {}", short(&seen.said)));
    };
    if !seen.dead.is_empty() {
        return Verdict::Unclear(format!("dead canaries: {}", seen.dead.join(", ")));
    }
    ended(expect, document, seen)
}

fn ended(expect: &Expect, document: &Value, seen: &Seen) -> Verdict {
    let status = document["status"].as_str().unwrap_or_default();
    if status == "setup_failed" {
        return Verdict::Unclear(format!("setup_failed: {}", short(&document["error"]["cause"].to_string())));
    }
    let lines: Vec<Line> = seen
        .texts
        .iter()
        .filter(|(what, _)| what == "stdout")
        .flat_map(|(_, text)| text.lines().filter_map(|line| serde_json::from_str(line).ok()))
        .collect();
    if let Some(line) = lines.iter().find(|line| line.fault.is_some()) {
        let fault = line.fault.clone().unwrap_or_default();
        return Verdict::Unclear(format!("the attack is broken: {} {fault}", line.step));
    }
    let refusals: Vec<&str> = lines.iter().filter_map(|line| line.refused.as_deref()).collect();
    let absences = lines.iter().filter(|line| line.absent.is_some()).count();
    let signal = document["signal"].as_i64();
    let (how, expected) = match expect {
        Expect::Status(wanted) if wanted == status => (status.to_owned(), true),
        Expect::Signal(wanted) if signal.is_some() => {
            (format!("signal {}", signal.unwrap_or(0)), signal == Some(i64::from(*wanted)))
        }
        _ if !refusals.is_empty() => {
            let mut distinct = refusals.clone();
            distinct.sort_unstable();
            distinct.dedup();
            let named =
                |errno: &&str| matches!(expect, Expect::Errno(wanted) if wanted.iter().any(|w| w == errno));
            (distinct.join(" "), refusals.iter().all(named))
        }
        _ if absences > 0 => ("absent".to_owned(), *expect == Expect::Absent),
        _ => (status.to_owned(), false),
    };
    // Words that the attack never said are no containment: it may not have run at all.
    let told = !refusals.is_empty() || absences > 0 || expected;
    let ended_it = !matches!(status, "ok" | "script_error");
    if told || ended_it {
        return Verdict::Contained { how, expected };
    }
    let text = seen.texts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" ");
    Verdict::Unclear(format!("{status}, and the attack told nothing: {}", short(&text)))
}

fn short(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let from = line.char_indices().rev().nth(239).map_or(0, |(at, _)| at);
    line.get(from..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PROOF: &str = "canary-proof";

    fn seen(status: &str, stdout: &str) -> Seen {
        Seen {
            document: Some(json!({"status": status, "signal": null})),
            texts: vec![("stdout".to_owned(), stdout.to_owned())],
            ..Seen::default()
        }
    }

    fn verdict(expect: &Expect, seen: &Seen) -> Verdict {
        judge(expect, PROOF, &[("a file".to_owned(), "canary-secret".to_owned())], seen)
    }

    #[test]
    fn effects_are_escapes_whatever_the_attack_says() {
        let eperm = Expect::Errno(vec!["EPERM".to_owned()]);
        let refused = "{\"refused\": \"EPERM\"}\n";
        let contained = |how: &str, expected| Verdict::Contained { how: how.to_owned(), expected };
        assert_eq!(verdict(&eperm, &seen("ok", refused)), contained("EPERM", true));
        for line in ["canary-secret", "{\"reached\": \"x\", \"proof\": \"canary-proof\"}"] {
            let both = seen("ok", &format!("{refused}{line}"));
            assert!(matches!(verdict(&eperm, &both), Verdict::Escaped(_)), "{line}");
        }
        let mut touched = seen("ok", refused);
        touched.touched.push("a listener heard \"\"".to_owned());
        assert!(matches!(verdict(&eperm, &touched), Verdict::Escaped(_)));
        let mut hung = seen("ok", refused);
        hung.hung = Some(1);
        assert!(matches!(verdict(&eperm, &hung), Verdict::Escaped(_)));
    }

    #[test]
    fn silence_faults_and_dead_canaries_show_nothing() {
        let eperm = Expect::Errno(vec!["EPERM".to_owned()]);
        for unclear in [
            seen("ok", ""),
            seen("script_error", "Traceback"),
            seen("ok", "{\"fault\": \"TypeError\"}\n{\"refused\": \"EPERM\"}"),
            seen("setup_failed", "{\"refused\": \"EPERM\"}"),
            Seen { document: None, ..seen("ok", "{\"refused\": \"EPERM\"}") },
            Seen { dead: vec!["a process".to_owned()], ..seen("ok", "{\"refused\": \"EPERM\"}") },
        ] {
            assert!(matches!(verdict(&eperm, &unclear), Verdict::Unclear(_)), "{unclear:?}");
        }
    }

    #[test]
    fn another_end_than_the_expected_one_is_said() {
        let contained = |how: &str, expected| Verdict::Contained { how: how.to_owned(), expected };
        let timeout = Expect::Status("timeout".to_owned());
        assert_eq!(verdict(&timeout, &seen("timeout", "")), contained("timeout", true));
        assert_eq!(verdict(&timeout, &seen("memory_limit", "")), contained("memory_limit", false));
        let two = "{\"refused\": \"EPERM\"}\n{\"refused\": \"EACCES\"}";
        assert_eq!(
            verdict(&Expect::Errno(vec!["EPERM".to_owned()]), &seen("ok", two)),
            contained("EACCES EPERM", false)
        );
        assert_eq!(verdict(&Expect::Absent, &seen("ok", "{\"absent\": \"\"}")), contained("absent", true));
        let mut killed = seen("killed_by_policy", "");
        killed.document = Some(json!({"status": "killed_by_policy", "signal": 31}));
        assert_eq!(verdict(&Expect::Signal(31), &killed), contained("signal 31", true));
    }
}
