//! One call explained, as text.

use crate::audit::explain::{Explained, Verdict};
use crate::render::text::tty_safe;
use std::fmt::Write as _;

/// The layers' answers in order, then the outcome and what would change it.
pub fn text(explained: &Explained) -> String {
    let mut out =
        format!("{} under policy {} ({})\n", explained.call, explained.policy, explained.architecture);
    for answer in &explained.answers {
        let verdict = match answer.verdict {
            Verdict::Allowed => "passes",
            Verdict::Refused => "REFUSES",
            Verdict::Depends => "depends",
            Verdict::NotReached => "-",
        };
        let _ = writeln!(
            out,
            "\n  {:<9} {verdict}: {}",
            answer.layer,
            answer.what.replace('\n', "\n            ")
        );
        for (name, value) in [
            ("rule", &answer.rule),
            ("why", &answer.reason),
            ("where", &answer.place),
            ("the program sees", &answer.errno),
        ] {
            if let Some(value) = value {
                let _ = writeln!(out, "            {name}: {value}");
            }
        }
    }
    let _ = writeln!(out, "\n  outcome: {}", explained.outcome);
    if let Some(suggestion) = &explained.suggestion {
        out.push_str("\n  the smallest change of the filter that would allow it");
        out.push_str(if suggestion.tried {
            " (compiled and tried):\n"
        } else {
            " (not tried: it does not compile as it stands):\n"
        });
        for entry in &suggestion.remove {
            let _ = writeln!(out, "    take out  {entry}");
        }
        let _ = writeln!(out, "    add       {} to a group of action allow", suggestion.add);
        for sentence in &suggestion.guarantees {
            let _ = writeln!(out, "    give up   the guarantee `{sentence}`");
        }
    }
    tty_safe(&out).into_owned()
}
