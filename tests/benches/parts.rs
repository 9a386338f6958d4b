//! The parts that a start is made of, one by one: `make bench-parts`.
#![allow(clippy::expect_used, reason = "a bench fails by panicking")]

use divan::{Bencher, black_box};
use skilljail::policy::Policy;
use skilljail::report::{Report, Status};
use skilljail::seccomp;
use skilljail::skill::{Skill, frontmatter, input::Input};
use std::path::PathBuf;

fn main() {
    divan::main();
}

fn shipped(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(path).expect("it is shipped")
}

fn word_count() -> Skill {
    Skill::open(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("skills/word-count")).expect("it is good")
}

/// What each start does: the program is in the binary.
#[divan::bench]
fn filter_shipped() -> usize {
    seccomp::shipped(black_box("default")).expect("it is there").program().len()
}

/// What the build does for each shipped filter, and `--policy FILE` for one of the user's: compile and prove.
#[divan::bench(sample_count = 10)]
fn filter_compile_and_prove(bencher: Bencher) {
    let text = shipped("seccomp/default.json");
    bencher.bench_local(|| seccomp::load("default.json", black_box(&text)).expect("it is proven"));
}

#[divan::bench]
fn policy_shipped() -> usize {
    Policy::load(black_box("default")).expect("it is shipped").name().len()
}

/// A file: read, compared with what it means, its guarantees proven.
#[divan::bench(sample_count = 10)]
fn policy_file(bencher: Bencher) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("policies/default.json");
    let path = path.to_str().expect("text").to_owned();
    bencher.bench_local(|| Policy::load(black_box(&path)).expect("it is proven").name().len());
}

#[divan::bench]
fn frontmatter_parse(bencher: Bencher) {
    let text = shipped("skills/word-count/SKILL.md");
    bencher.bench_local(|| frontmatter::parse(black_box(text.as_bytes())).1.len());
}

#[divan::bench]
fn skill_open(bencher: Bencher) {
    bencher.bench_local(word_count);
}

#[divan::bench]
fn skill_load(bencher: Bencher) {
    let skill = word_count();
    bencher.bench_local(|| skill.load().expect("it is whole").files.len());
}

#[divan::bench]
fn input_check(bencher: Bencher) {
    let skill = word_count();
    let input = shipped("skills/word-count/examples/count.input.json");
    let script = skill.script("count.py").expect("it is there");
    bencher.bench_local(|| {
        Input::check(script.contract, black_box(input.as_bytes()), 4096).expect("it is good")
    });
}

#[divan::bench]
fn report_to_json(bencher: Bencher) {
    let report = Report::empty(Status::Ok);
    bencher.bench_local(|| black_box(&report).to_json().len());
}
