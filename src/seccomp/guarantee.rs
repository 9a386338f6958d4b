//! The closed language of guarantees: sentences about a filter that are proven, not believed.
//!
//! ```text
//! never ptrace                                no input of this call gets through
//! never socket(domain=AF_INET)                none that meets all of these does
//! never clone(flags has CLONE_NEWUSER)        has: all these bits are set; lacks: none of them is
//! only kill(sig!=SIGSYS)                      whatever gets through meets all of these
//! exec only dirfd=EXEC_FD, flags=AT_EMPTY_PATH    never execve, and of execveat only that
//! ```
//!
//! Comparisons: `=`, `!=`, `<`, `<=`, `>`, `>=`, `has`, `lacks`, `in {A, B}`; values are those of filters. A sentence about a call that an
//! architecture does not have is true there.

use super::bpf::SockFilter;
use super::error::{FilterError, did_you_mean};
use super::filter::{Arch, Condition, Place, Test};
use super::json::values::{argument, expression};
use super::prove::{Prover, Unprovable, lets_through};
use super::region::Region;
use super::syscalls::{Syscall, Table};
use super::verify::{Broken, refuse, split_all};

/// One sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarantee {
    sentence: String,
    claims: Vec<Claim>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Claim {
    call: &'static Syscall,
    /// Refused where the conditions hold (`never`), or where they do not (`only`).
    refused_where: bool,
    conditions: Vec<Condition>,
}

/// What is wrong with a sentence, and a hint.
type Wrong = (String, Option<String>);

/// Reads the sentences of a file.
///
/// # Errors
/// The first that is none.
pub fn parse_all(file: &str, sentences: &[String]) -> Result<Vec<Guarantee>, FilterError> {
    let parsed = sentences.iter().enumerate().map(|(i, sentence)| {
        parse(sentence).map_err(|(what, hint)| FilterError::Invalid {
            place: Place { file: file.to_owned(), pointer: format!("/guarantees/{i}"), line: 0 },
            what: format!("{sentence:?}: {what}"),
            hint,
        })
    });
    parsed.collect()
}

/// Reads one sentence.
///
/// # Errors
/// What is not understood, and a hint.
pub fn parse(sentence: &str) -> Result<Guarantee, Wrong> {
    let text = sentence.trim();
    let claims = if let Some(rest) = text.strip_prefix("exec only ") {
        vec![
            Claim { call: call("execve")?, refused_where: true, conditions: Vec::new() },
            claim(false, call("execveat")?, rest)?,
        ]
    } else {
        let (refused_where, rest) = match (text.strip_prefix("never "), text.strip_prefix("only ")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => {
                let hint =
                    "sentences: `never CALL`, `never CALL(…)`, `only CALL(…)`, `exec only …`".to_owned();
                return Err(("it does not begin with never, only or exec only".to_owned(), Some(hint)));
            }
        };
        match rest.trim().split_once('(') {
            None if !refused_where => return Err(("`only` needs conditions in brackets".to_owned(), None)),
            None => vec![Claim { call: call(rest.trim())?, refused_where, conditions: Vec::new() }],
            Some((name, list)) => {
                let Some(list) = list.strip_suffix(')') else {
                    return Err(("a bracket is not closed".to_owned(), None));
                };
                vec![claim(refused_where, call(name.trim())?, list)?]
            }
        }
    };
    Ok(Guarantee { sentence: text.to_owned(), claims })
}

fn call(name: &str) -> Result<&'static Syscall, Wrong> {
    let table = Table::builtin();
    table.named(name).ok_or_else(|| {
        (format!("no architecture has a system call {name:?}"), did_you_mean(&table.near(name)))
    })
}

fn claim(refused_where: bool, call: &'static Syscall, list: &str) -> Result<Claim, Wrong> {
    let mut conditions = Vec::new();
    for text in top_level(list) {
        conditions.push(condition(call, text.trim())?);
    }
    Ok(Claim { call, refused_where, conditions })
}

/// Splits at commas outside braces.
fn top_level(list: &str) -> Vec<&str> {
    let mut depth = 0usize;
    list.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

fn condition(call: &Syscall, text: &str) -> Result<Condition, Wrong> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let (index, arg) = argument(call, name)?;
    let rest = rest.trim();
    // Longer signs first, so that `<=` is not read as `<` and a value.
    let signs = ["!=", "<=", ">=", "=", "<", ">", "has ", "lacks ", "in "];
    let Some((sign, value)) = signs.iter().find_map(|s| Some((*s, rest.strip_prefix(s)?))) else {
        let hint = "comparisons: =, !=, <, <=, >, >=, has, lacks, in {…}".to_owned();
        return Err((format!("{text:?} has no comparison"), Some(hint)));
    };
    let number = |text: &str| expression(arg.width, text);
    let full = arg.width.mask();
    let value = value.trim();
    let comparison = match sign {
        "!=" => Test::Ne(number(value)?),
        "<" => Test::Lt(number(value)?),
        "<=" => Test::Le(number(value)?),
        ">" => Test::Gt(number(value)?),
        ">=" => Test::Ge(number(value)?),
        "=" => Test::In { mask: full, values: vec![number(value)?] },
        "in " => {
            let Some(list) = value.strip_prefix('{').and_then(|v| v.strip_suffix('}')) else {
                return Err((format!("{value:?} is no list in braces"), None));
            };
            let mut values = list.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
            values.sort_unstable();
            values.dedup();
            Test::In { mask: full, values }
        }
        bits => match number(value)? {
            0 => return Err(("0 has no bits to speak of".to_owned(), None)),
            mask => Test::In { mask, values: vec![if bits == "has " { mask } else { 0 }] },
        },
    };
    Ok(Condition { index, arg: arg.clone(), test: comparison })
}

impl Guarantee {
    /// The words.
    pub fn sentence(&self) -> &str {
        &self.sentence
    }

    /// Proves the sentence of a program.
    ///
    /// # Errors
    /// An input that breaks it.
    pub fn prove(&self, arch: Arch, program: &[SockFilter]) -> Result<(), Broken> {
        self.claims.iter().try_for_each(|claim| refuse(&self.sentence, claim.exception(arch, program)))
    }
}

impl Claim {
    fn exception(&self, arch: Arch, program: &[SockFilter]) -> Result<Option<(Region, u32)>, Unprovable> {
        let Some(nr) = self.call.number(arch) else { return Ok(None) };
        let native = Region::everything().listed(1, &[arch.audit()], true)?;
        let Some(region) = native.map(|r| r.listed(0, &[nr], true)).transpose()?.flatten() else {
            return Ok(None);
        };
        let (inside, outside) = split_all(&region, &self.conditions)?;
        let mut prover = Prover::new(program)?;
        for part in if self.refused_where { inside } else { outside } {
            if let Some(found) = prover.exception(&part, |ret| !lets_through(ret))? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seccomp::{json, tree};

    fn program(arch: Arch) -> Vec<SockFilter> {
        let source = include_str!("../../seccomp/default.json");
        tree::compile(&json::parse("default.json", source, &|_| None).unwrap(), arch).unwrap()
    }

    fn outcome(sentence: &str) -> Result<(), Broken> {
        Arch::ALL.into_iter().try_for_each(|arch| parse(sentence).unwrap().prove(arch, &program(arch)))
    }

    #[test]
    fn true_sentences_are_proven() {
        for sentence in [
            "never ptrace",
            "never socket(domain=AF_INET)",
            "never clone(flags has CLONE_NEWUSER)",
            "never mmap(prot has PROT_WRITE|PROT_EXEC)",
            "only kill(sig!=SIGSYS)",
            "only clone(flags has CLONE_THREAD, flags lacks CLONE_NEWNET)",
            "only ioctl(cmd in {TCGETS, TCGETS2, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX})",
            "never fcntl(cmd>F_GETPIPE_SZ)",
            "never mmap(addr>0, addr<LOWEST_MAP)",
            "exec only dirfd=EXEC_FD, flags=AT_EMPTY_PATH",
            "never fork",
        ] {
            assert_eq!(outcome(sentence), Ok(()), "{sentence}");
        }
    }

    #[test]
    fn false_sentences_get_a_witness() {
        for (sentence, witness) in [
            ("never read", "read("),
            ("never mmap(prot has PROT_EXEC)", "prot=0x4"),
            ("only kill(sig=SIGKILL)", "sig=0x0"),
            ("only kill(sig!=SIGKILL)", "sig=0x9"),
            ("never ioctl(cmd>=TCGETS, cmd<=TCGETS)", "cmd=0x5401"),
            ("only clone(flags lacks CLONE_THREAD)", "flags=0x3d0f00"),
            ("only fcntl(cmd in {F_GETFD, F_SETFD})", "fcntl("),
            ("exec only dirfd=0", "dirfd=0x3ff"),
        ] {
            let broken = outcome(sentence).expect_err(sentence);
            assert_eq!(broken.claim, sentence);
            assert!(broken.witness.contains(witness) && broken.witness.ends_with("allow"), "{broken:?}");
        }
    }

    #[test]
    fn what_is_no_sentence_is_an_error_with_a_hint() {
        for (sentence, what, hint) in [
            ("", "does not begin", "never CALL"),
            ("always read", "does not begin", "never CALL"),
            ("never raed", "no architecture", "did you mean read"),
            ("never kill(sig=SIGSYZ)", "neither a number", "SIGSYS"),
            ("never kill(sgi=1)", "no argument \"sgi\"", "sig"),
            ("never kill(sig)", "no comparison", "has, lacks"),
            ("never kill(sig~1)", "no comparison", "has, lacks"),
        ] {
            let (said, hinted) = parse(sentence).expect_err(sentence);
            assert!(said.contains(what), "{sentence:?}: {said}");
            assert!(hinted.as_deref().unwrap_or_default().contains(hint), "{sentence:?}: {hinted:?}");
        }
        for sentence in [
            "only kill",
            "never kill(sig=1",
            "never kill(sig=)",
            "never kill(sig in 1)",
            "never kill()",
            "never kill(sig has 0)",
            "never kill(sig=0x100000000)",
        ] {
            assert!(parse(sentence).is_err(), "{sentence:?}");
        }
    }
}
