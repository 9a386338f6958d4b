//! What each layer answers to one call.

mod call;
mod egress;
mod files;
mod suggest;

pub use call::CallError;

use super::region_words::{self, Witness};
use super::sections::{conditions, seen};
use crate::plan::Plan;
use crate::policy::{NetworkMode, Policy};
use crate::seccomp::prove::{Prover, Unprovable};
use crate::seccomp::region::{Region, TooComplex};
use crate::seccomp::{Action, Arch, Filter};
use call::Call;
use serde::Serialize;
use std::fmt::Write as _;
use suggest::Suggestion;

/// What became of a call at one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It goes on to the next layer, or runs.
    Allowed,
    /// It ends here.
    Refused,
    /// It depends on what was left open.
    Depends,
    /// A layer before this one ended it.
    NotReached,
}

/// One layer's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The layer.
    pub layer: &'static str,
    /// Its answer.
    pub verdict: Verdict,
    /// In words.
    pub what: String,
    /// The rule, where one decided.
    pub rule: Option<String>,
    /// Why the policy says so.
    pub reason: Option<String>,
    /// File and line, or the pointer in the policy.
    pub place: Option<String>,
    /// What the program sees.
    pub errno: Option<String>,
}

/// A call explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The policy.
    pub policy: String,
    /// The call as it was understood.
    pub call: String,
    /// The architecture that its number was looked up for.
    pub architecture: &'static str,
    /// The layers in the order in which the kernel asks them.
    pub answers: Vec<Answer>,
    /// What comes out: `the call runs`, or the errno.
    pub outcome: String,
    /// An input that was followed.
    pub witness: Witness,
    /// The smallest change that would allow it; nothing where it is allowed, or no change of the filter would help.
    pub suggestion: Option<Suggestion>,
}

/// The call could not be explained.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// The words are no call.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The filter is too tangled. Its author is at fault.
    #[error("the filter cannot be followed: {0}")]
    Filter(#[from] Unprovable),
    /// The filter cannot be read. Our fault.
    #[error("the filter cannot be read: {0}")]
    Unread(String),
}

impl From<TooComplex> for ExplainError {
    fn from(error: TooComplex) -> Self {
        Self::Filter(error.into())
    }
}

/// What became of one set of arguments at the filter.
struct Outcome {
    action: Action,
    region: Region,
}

/// Explains a call.
///
/// # Errors
/// The words are not understood, or the filter cannot be followed.
pub fn explain(policy: &Policy, plan: &Plan, words: &str) -> Result<Explained, ExplainError> {
    let call = Call::parse(words)?;
    let filter = policy.filter().filter().map_err(|why| ExplainError::Unread(why.to_owned()))?;
    let arch = if call.syscall().number(Arch::NATIVE).is_some() {
        Arch::NATIVE
    } else {
        Arch::ALL.into_iter().find(|arch| call.syscall().number(*arch).is_some()).unwrap_or(Arch::NATIVE)
    };
    let region = call.region(arch)?;
    let outcomes = follow(policy, arch, &region)?;
    let (first, witness) =
        (outcomes.first(), outcomes.first().map_or(&region, |outcome| &outcome.region).witness()?);
    let mut answers = vec![filtered(filter, arch, &call, &outcomes)?];
    let passes = outcomes.iter().any(|outcome| outcome.action == Action::Allow);
    answers.extend(files::answers(plan, &call));
    answers.extend(network(plan, &call));
    settle(&mut answers, passes);
    let refused = answers.iter().find(|answer| answer.verdict == Verdict::Refused);
    let depends = answers.iter().any(|answer| answer.verdict == Verdict::Depends);
    let outcome = match (refused, depends) {
        (Some(answer), _) => {
            format!("refused by {}: {}", answer.layer, answer.errno.as_deref().unwrap_or("nothing is found"))
        }
        (None, true) => "it depends on what was left open".to_owned(),
        (None, false) => "the call runs".to_owned(),
    };
    let wanted = first.is_some_and(|first| first.action != Action::Allow) && !passes;
    Ok(Explained {
        policy: policy.name().to_owned(),
        call: call.to_string(),
        architecture: arch.name(),
        answers,
        outcome,
        witness: region_words::witness(&witness),
        suggestion: wanted.then(|| suggest::suggest(filter, arch, &call, &region)),
    })
}

/// The program's answers over the set, one entry an action, the strictest first.
fn follow(policy: &Policy, arch: Arch, region: &Region) -> Result<Vec<Outcome>, ExplainError> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    Prover::new(policy.filter().program_for(arch))?.walk(region, |part, ret| {
        if let Some(action) = Action::from_ret(ret) {
            outcomes.push(Outcome { action, region: part.clone() });
        }
        Ok(None::<()>)
    })?;
    outcomes.sort_by_key(|outcome| std::cmp::Reverse(outcome.action));
    Ok(outcomes)
}

fn filtered(filter: &Filter, arch: Arch, call: &Call, outcomes: &[Outcome]) -> Result<Answer, ExplainError> {
    let mut lines: Vec<(Action, String, Answer)> = Vec::new();
    for outcome in outcomes {
        let data = outcome.region.witness()?;
        let (rule, action) = filter.decide(arch, data.nr(), &data.args());
        let named = filter.rules_of(&call.syscall().name).next().is_some();
        let fallback = if named { filter.mismatch_action() } else { filter.default_action() };
        let answer = Answer {
            layer: "seccomp",
            verdict: if action == Action::Allow { Verdict::Allowed } else { Verdict::Refused },
            what: rule.map_or_else(
                || {
                    if named {
                        "no rule of the call takes these arguments".to_owned()
                    } else {
                        "no rule names the call".to_owned()
                    }
                },
                |rule| format!("group {}: {}", rule.group(), conditions(rule)),
            ),
            rule: rule.map(|rule| format!("{}: {} {}", rule.group(), rule.action(), rule.call().name)),
            reason: Some(rule.map_or(fallback.reason(), crate::seccomp::filter::Rule::reason).to_owned()),
            place: rule.map(|rule| format!("{}:{}", rule.place().file, rule.place().line)),
            errno: (action != Action::Allow).then(|| seen(action)),
        };
        let when = region_words::when(&outcome.region, Some(call.syscall()));
        lines.push((action, when, answer));
    }
    let Some((first, _, answer)) = lines.first().cloned() else {
        return Err(ExplainError::Unread("no answer".to_owned()));
    };
    if lines.iter().all(|(action, ..)| *action == first) {
        return Ok(answer);
    }
    let mut what = String::from("it depends on the arguments that were left open:");
    for (action, when, answer) in &lines {
        let _ = write!(what, "\n  {} where {when}", seen(*action));
        if let Some(place) = &answer.place {
            let _ = write!(what, " ({place})");
        }
    }
    Ok(Answer {
        layer: "seccomp",
        verdict: Verdict::Depends,
        what,
        rule: None,
        reason: None,
        place: None,
        errno: None,
    })
}

/// What the network namespace says to calls about sockets.
fn network(plan: &Plan, call: &Call) -> Option<Answer> {
    let about = ["socket", "connect", "bind", "listen", "accept", "accept4", "sendto", "sendmsg", "sendmmsg"];
    if !about.contains(&call.syscall().name.as_str()) {
        return None;
    }
    let reaches = matches!(call.syscall().name.as_str(), "connect" | "sendto" | "sendmsg" | "sendmmsg");
    if let Some(egress) = &plan.net.egress {
        return Some(egress::answer(egress, reaches, call.address()));
    }
    let none = plan.net.mode == NetworkMode::None;
    Some(Answer {
        layer: "net",
        verdict: match (none, reaches) {
            (true, true) => Verdict::Refused,
            (true, false) => Verdict::Allowed,
            (false, _) => Verdict::Depends,
        },
        what: match (none, call.address()) {
            (true, Some(address)) => {
                format!("there is no way to {address}: an empty network namespace, its loopback down")
            }
            (true, None) => {
                "an empty network namespace whose loopback is down: a socket could reach nothing".to_owned()
            }
            (false, _) => format!("the network mode is {:?}", plan.net.mode),
        },
        rule: None,
        reason: Some(plan.net.reason.clone()),
        place: Some("/network".to_owned()),
        errno: (none && reaches).then(|| "ENETUNREACH".to_owned()),
    })
}

/// Behind a refusal nothing is asked any more: its answers are what would be said then.
fn settle(answers: &mut [Answer], passes: bool) {
    let mut ended = !passes;
    for answer in answers.iter_mut().skip(1) {
        if ended {
            answer.what = format!("not reached; it would say: {}", answer.what);
            answer.verdict = Verdict::NotReached;
        }
        ended |= answer.verdict == Verdict::Refused;
    }
}
