//! Fuzz targets for what parses bytes of a package: the frontmatter, `xray.json`, `.skillenv`, the review of scripts.
//!
//! A loop that mutates a committed corpus (`tests/fuzz/parsers`) by a seed: the same seed makes the same inputs. The tests run it
//! briefly. `make fuzz-parsers` runs each for a minute, optimised, and holds that no input of 64 KiB takes more than 100 ms
//! of cpu; `FUZZ_SECONDS` and `FUZZ_SEED` change that. The input at work is in `target/tmp/fuzz-TARGET`, also after a crash.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "what a fuzzer found out is for people")]
#![cfg(feature = "review")]

use nix::time::{ClockId, clock_gettime};
use skilljail::egress::{dns, hello, tap};
use skilljail::skill::admission::{Surroundings, review};
use skilljail::skill::finding::Finding;
use skilljail::skill::rules::Cost;
use skilljail::skill::{body, contract, env, frontmatter, json};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Inputs have at most this many bytes.
const MAX: usize = 64 << 10;

/// Words that mean something in one of the four languages.
const WORDS: [&str; 78] = [
    "---\n",
    "\n---\n",
    "...\n",
    "name: ",
    "description: ",
    "metadata:\n  ",
    "- ",
    "? ",
    ": ",
    "\n",
    "\r\n",
    "\t",
    "  ",
    "&a ",
    "*a",
    "<<: ",
    "!!str ",
    "!x ",
    "|\n ",
    ">-\n  ",
    "\"",
    "'",
    "\\",
    "\\u0000",
    "\\ud800",
    "#",
    " #",
    "%YAML 1.1\n",
    "~",
    "\u{feff}",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ",",
    "\"a\":",
    "{\"type\":\"string\",\"maxLength\":1}",
    "null",
    "1e9",
    "-0",
    "99999999999999999999",
    "KEY=",
    "=",
    "${",
    "$(",
    "$TFROBOT_",
    "${TFROBOT_SKILL_DIR}",
    "```\n",
    "lambda: ",
    "not ",
    "-",
    "**",
    ".a",
    " if a else ",
    "await ",
    "f'{",
    "f'''",
    "{x:{",
    "rb'",
    "'''",
    "\"\"\"",
    "if 1:\n ",
    "import os\n",
    "from a import *\n",
    "os.system",
    "getattr(os, 'x')",
    "eval(",
    "=lambda:",
    ":=",
    "async ",
    "match a:\n case ",
    "@a\n",
    "class A:\n ",
    "\u{202e}",
    "é",
    "\0",
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % (bound.max(1) as u64)).unwrap()
    }
}

/// A new input out of the corpus.
fn mutate(random: &mut Random, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len() + 1);
        let end = (at + 1 + random.below(40)).min(bytes.len());
        match random.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.truncate(at),
            3 => {
                let other = &corpus[random.below(corpus.len())];
                let from = random.below(other.len());
                bytes.truncate(at);
                bytes.extend(&other[from..]);
            }
            // The same again and again: what is not linear shows itself.
            4 => {
                let word = WORDS[random.below(WORDS.len())];
                let many = word.repeat(random.below(MAX / word.len()));
                bytes.splice(at..at, many.bytes());
            }
            5 => {
                let part = bytes[at..end].to_vec();
                let many = part.repeat(random.below(MAX / part.len().max(1)));
                bytes.splice(at..at, many);
            }
            _ => {
                let word = WORDS[random.below(WORDS.len())];
                bytes.splice(at..at, word.bytes());
            }
        }
    }
    bytes.truncate(MAX);
    bytes
}

fn cpu() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}

/// How long to go on.
enum Until {
    Inputs(u64),
    Deadline(Duration),
}

/// Runs a target; returns the slowest input and its cpu time.
fn run(name: &str, target: Target, until: &Until) -> (Vec<u8>, Duration) {
    let seed = std::env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x5eed);
    let mut random = Random(seed);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/parsers").join(name);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let corpus: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    // A test program that another user built may not write here; then a crash tells its seed and number only.
    let at_work = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}"));
    corpus.iter().for_each(|bytes| target(bytes));
    let (mut slowest, mut longest) = (Vec::new(), Duration::ZERO);
    let (start, mut count) = (Instant::now(), 0);
    loop {
        match until {
            Until::Inputs(inputs) if count >= *inputs => break,
            Until::Deadline(time) if start.elapsed() >= *time => break,
            _ => count += 1,
        }
        let bytes = mutate(&mut random, &corpus);
        drop(fs::write(&at_work, &bytes));
        let before = cpu();
        target(&bytes);
        let spent = cpu() - before;
        if spent > longest {
            (slowest, longest) = (bytes, spent);
        }
    }
    eprintln!(
        "{name}: seed {seed}, {count} inputs, the slowest {} bytes in {longest:?} of cpu",
        slowest.len()
    );
    (slowest, longest)
}

fn places_are_in_the_file(findings: &[Finding], bytes: &[u8]) {
    let lines = bytes.split(|b| *b == b'\n').count() + 1;
    for finding in findings {
        assert!(finding.line as usize <= lines, "{}: line {} of {lines}", finding.what, finding.line);
        assert!(!finding.what.contains('\u{1b}'), "{}", finding.what);
    }
}

fn frontmatter_target(bytes: &[u8]) {
    let (front, findings) = frontmatter::parse(bytes);
    places_are_in_the_file(&findings, bytes);
    if findings.iter().all(|finding| finding.rule.cost != Cost::Standard) {
        assert!(front.name.is_some() && front.description.is_some());
    }
    let checked = body::check(&front.body, front.body_line, front.tier);
    let values = body::Values { skill_dir: "/skill", session: Some("s"), robot: Some("r") };
    let expanded = body::expand(&front.body, front.body_line, &values);
    assert_eq!(expanded.is_err(), checked.iter().any(|finding| finding.rule.name == "placeholder-unknown"));
}

fn xray_target(bytes: &[u8]) {
    if json::parse(bytes).is_ok() {
        assert!(serde_json::from_slice::<serde_json::Value>(bytes).is_ok());
    }
    let (contract, findings) = contract::parse(bytes);
    places_are_in_the_file(&findings, bytes);
    for script in contract.iter().flat_map(|contract| &contract.scripts) {
        assert!(script.schema().is_object());
        drop(contract::Input::check(Some(script), bytes, 1 << 20));
    }
}

fn skillenv_target(bytes: &[u8]) {
    let (env, findings) = env::parse(bytes);
    places_are_in_the_file(&findings, bytes);
    assert!(env.keys().all(|key| env::well_formed(key) && !env::reserved(key)));
    drop(env::parse_secrets(bytes));
}

fn review_target(bytes: &[u8]) {
    let around = Surroundings { runtime: Some(Default::default()), ..Surroundings::default() };
    places_are_in_the_file(&review(&[("scripts/a.py", bytes)], &around), bytes);
}

/// Questions of a script, and answers of a resolver.
fn dns_target(bytes: &[u8]) {
    match dns::question(bytes) {
        Ok(question) => {
            let addresses = ["93.184.216.34".parse().unwrap(), "2606:2800:220:1::34".parse().unwrap()];
            for reply in
                [dns::Reply::Addresses(&addresses, 60), dns::Reply::Text("refused"), dns::Reply::Refused]
            {
                let answer =
                    dns::reply(&question, &reply, question.limit).expect("what was read can be answered");
                assert!(answer.len() <= question.limit.max(600), "{} bytes", answer.len());
                assert_eq!(answer[..2], bytes[..2]);
            }
        }
        Err(Some(answer)) => assert!(answer.len() <= bytes.len().max(12) + 300),
        Err(None) => {}
    }
    for name in ["api.example.org", "a"] {
        let id = bytes.first_chunk().map_or(0, |id| u16::from_be_bytes(*id));
        for v6 in [false, true] {
            if let Some(dns::Answer::Addresses(list, _)) = dns::answer(bytes, id, name, v6) {
                assert!(list.len() <= 16 && list.iter().all(|address| address.is_ipv6() == v6));
            }
        }
    }
}

fn client_hello_target(bytes: &[u8]) {
    let whole = hello::read(bytes);
    // What is known of a beginning does not change with what follows.
    for end in [bytes.len() / 3, bytes.len() / 2] {
        let part = hello::read(&bytes[..end]);
        assert!(part == hello::Hello::Incomplete || part == whole, "{part:?} became {whole:?}");
    }
    drop(tap::attempt(bytes, &[443]));
}

type Target = fn(&[u8]);

const TARGETS: [(&str, Target); 6] = [
    ("dns", dns_target),
    ("client_hello", client_hello_target),
    ("frontmatter", frontmatter_target),
    ("xray", xray_target),
    ("skillenv", skillenv_target),
    ("review", review_target),
];

#[test]
fn a_short_run_of_each() {
    for (name, target) in TARGETS {
        run(name, target, &Until::Inputs(60));
    }
}

#[test]
fn the_same_seed_makes_the_same_inputs() {
    let corpus = [b"one: two\n".to_vec(), b"{}".to_vec()];
    let inputs = |seed| {
        let mut random = Random(seed);
        (0..50).map(|_| mutate(&mut random, &corpus)).collect::<Vec<_>>()
    };
    assert_eq!(inputs(7), inputs(7));
    assert_ne!(inputs(7), inputs(8));
    assert!(inputs(7).iter().any(|input| input.len() > MAX / 4));
}

#[test]
#[cfg_attr(not(feature = "fuzz"), ignore = "a minute for each target: make fuzz-parsers")]
fn a_minute_of_each() {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(60);
    let until = || Until::Deadline(Duration::from_secs(seconds));
    // Two at a time: one a core of the smallest machine.
    let next = AtomicUsize::new(0);
    let worker = || {
        let mine = std::iter::from_fn(|| TARGETS.get(next.fetch_add(1, Ordering::Relaxed)));
        mine.map(|(name, target)| (*name, *target, run(name, *target, &until()).0)).collect::<Vec<_>>()
    };
    let found = std::thread::scope(|scope| {
        let workers = [scope.spawn(worker), scope.spawn(worker)];
        workers.map(|worker| worker.join().unwrap()).concat()
    });
    assert_eq!(found.len(), TARGETS.len());
    for (name, target, slowest) in found {
        // Again, alone: a busy machine makes cpu time longer too.
        let best = (0..5)
            .map(|_| {
                let before = cpu();
                target(&slowest);
                cpu() - before
            })
            .min()
            .unwrap();
        eprintln!("{name}: the slowest input again: {best:?} of cpu");
        assert!(best < Duration::from_millis(100), "{name}: {best:?} for {} bytes", slowest.len());
    }
}
