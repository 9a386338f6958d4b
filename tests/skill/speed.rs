//! What `check` costs, beside `sha256sum` over the same tree. Absolute times are noise on a shared machine: the ratio counts.

use super::package::{Package, skilljail};
use std::process::Command;
use std::time::{Duration, Instant};

/// 200 files, 20 of them scripts of some length.
fn tree() -> Package {
    let function = "def function_{n}(a, b):\n    \"\"\"Adds things up.\"\"\"\n    total = {'a': a, 'b': [x for x in range(b)]}\n    \
                    if total['a'] > 3 and b:\n        return json.dumps(total, sort_keys=True) + f\"{a:>{b}}\"\n    return None\n\n\n";
    let source: String = (0..60).map(|n| function.replace("{n}", &n.to_string())).collect();
    let mut package = Package::python();
    for number in 0..19 {
        package = package.file(
            &format!("scripts/module_{number}.py"),
            format!("import json\nimport os.path as p\n\n\n{source}"),
        );
    }
    for number in 0..178 {
        package = package
            .file(&format!("references/part-{}/file-{number}.md", number % 7), "Some text.\n".repeat(200));
    }
    package
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[test]
#[cfg_attr(not(feature = "bench"), ignore = "a benchmark: make bench-check")]
fn check_beside_sha256sum() {
    let package = tree();
    let root = package.root.to_str().unwrap();
    let (mut check, mut sums) = (Vec::new(), Vec::new());
    for _ in 0..30 {
        let start = Instant::now();
        let output = skilljail(&["check", root]);
        check.push(start.elapsed());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
        let start = Instant::now();
        let words = ["-c", "find \"$0\" -type f -print0 | xargs -0 sha256sum | wc -l", root];
        let output = Command::new("sh").args(words).output().unwrap();
        sums.push(start.elapsed());
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "200");
    }
    let (check, sums) = (median(check), median(sums));
    let ratio = check.as_secs_f64() / sums.as_secs_f64();
    eprintln!(
        "check of 200 files, 20 scripts: {check:?}; find and sha256sum of them: {sums:?}; ratio {ratio:.2}"
    );
    assert!(check < Duration::from_millis(150), "{check:?}");
}
