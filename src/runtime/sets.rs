//! The shipped requirement sets, and what a requirements file must look like.

/// Their names.
pub const NAMES: [&str; 2] = ["data", "tfrobot"];

/// The text of a shipped set.
pub fn shipped(name: &str) -> Option<&'static str> {
    match name {
        "data" => Some(include_str!("sets/data.txt")),
        "tfrobot" => Some(include_str!("sets/tfrobot.txt")),
        _ => None,
    }
}

/// The names that a requirements text pins, normalised.
pub fn pinned_names(text: &str) -> Vec<String> {
    logical_lines(text)
        .iter()
        .filter_map(|line| line.split_once("=="))
        .map(|(name, _)| normalised(name.split('[').next().unwrap_or(name).trim()))
        .collect()
}

/// The first line that is not `NAME==VERSION … --hash=sha256:…`. Options (`-r`, `--index-url`, …) count as unpinned:
/// they reach outside the file.
pub fn unpinned(text: &str) -> Option<String> {
    let lines = logical_lines(text);
    if lines.is_empty() {
        return Some("(no requirement at all)".to_owned());
    }
    lines.into_iter().find(|line| {
        let pinned = line.split_once("==").is_some_and(|(name, rest)| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.[], ".contains(c);
            name.starts_with(|c: char| c.is_ascii_alphanumeric())
                && name.chars().all(plain)
                && !rest.trim_start().starts_with('*')
        });
        let hashes: Vec<&str> = line.split_whitespace().filter(|word| word.starts_with("--")).collect();
        let all_good = !hashes.is_empty()
            && hashes.iter().all(|word| {
                word.strip_prefix("--hash=sha256:")
                    .is_some_and(|sum| sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit()))
            });
        !(pinned && all_good)
    })
}

/// Without comments and blank lines, `\` at a line's end joined.
fn logical_lines(text: &str) -> Vec<String> {
    text.replace("\\\r\n", " ")
        .replace("\\\n", " ")
        .lines()
        .map(
            |line| {
                if line.trim_start().starts_with('#') { "" } else { line.split(" #").next().unwrap_or(line) }
            },
        )
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

/// PEP 503: lower case, runs of `-_.` are one `-`.
pub fn normalised(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '-' | '_' | '.' if out.ends_with('-') => {}
            '-' | '_' | '.' => out.push('-'),
            other => out.extend(other.to_lowercase()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{NAMES, normalised, pinned_names, shipped, unpinned};

    #[test]
    fn the_shipped_sets_are_pinned_and_hold_what_they_promise() {
        let promised = [
            ("data", vec!["numpy", "pandas", "matplotlib"]),
            (
                "tfrobot",
                vec![
                    "requests",
                    "httpx",
                    "pydantic",
                    "pyyaml",
                    "python-dateutil",
                    "pandas",
                    "numpy",
                    "matplotlib",
                    "openpyxl",
                    "python-docx",
                    "pillow",
                ],
            ),
        ];
        assert_eq!(promised.each_ref().map(|(name, _)| *name), NAMES);
        for (set, packages) in promised {
            let text = shipped(set).expect("shipped");
            assert_eq!(unpinned(text), None, "{set}");
            let names = pinned_names(text);
            for package in packages {
                assert!(names.iter().any(|name| name == package), "{set} lacks {package}");
            }
        }
    }

    #[test]
    fn what_is_not_pinned_is_named() {
        let sum = "a".repeat(64);
        assert_eq!(
            unpinned(&format!("a==1 --hash=sha256:{sum}\n# c\nb[x]==2 \\\n  --hash=sha256:{sum}\n")),
            None
        );
        for bad in [
            "",
            "numpy",
            "numpy==1",
            "numpy>=1 --hash=sha256:00",
            "-r other.txt",
            "--index-url https://example.org/",
            "numpy==* --hash=sha256:00",
            &format!("a @ https://example.org/a.whl --hash=sha256:{sum}"),
            &format!("a==1 --hash=md5:{sum}"),
            &format!("a==1 --hash=sha256:{sum}\nb==1"),
        ] {
            assert!(unpinned(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn names_are_normalised() {
        assert_eq!(normalised("Python_.Docx"), "python-docx");
    }
}
