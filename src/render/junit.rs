//! JUnit, as CI systems read it: a suite a policy, a test a rule.

use crate::render::text::xml;
use std::fmt::Write as _;

/// A test.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// What failed, one text a failure; empty: it passed.
    pub failures: Vec<String>,
}

/// A suite.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// Its tests.
    pub cases: Vec<Case>,
}

/// The document.
pub fn document(suites: &[Suite]) -> String {
    let mut out =
        String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"skilljail\">\n");
    for suite in suites {
        let failed = suite.cases.iter().filter(|case| !case.failures.is_empty()).count();
        let name = xml(&suite.name);
        let _ = writeln!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"0\">",
            suite.cases.len()
        );
        for case in &suite.cases {
            let _ = write!(out, "    <testcase classname=\"{name}\" name=\"{}\"", xml(&case.name));
            if case.failures.is_empty() {
                out.push_str("/>\n");
                continue;
            }
            // One `failure` a case is what every reader takes.
            let text = case.failures.join("\n");
            let first = text.lines().next().unwrap_or_default();
            let _ = writeln!(
                out,
                ">\n      <failure message=\"{}\">{}</failure>\n    </testcase>",
                xml(first),
                xml(&text)
            );
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_passes_or_fails_and_text_stays_text() {
        let case = |name: &str, failures: &[&str]| Case {
            name: name.to_owned(),
            failures: failures.iter().map(|f| (*f).to_owned()).collect(),
        };
        let text = document(&[Suite {
            name: "a&b".to_owned(),
            cases: vec![case("good", &[]), case("bad", &["<x>\nmore"])],
        }]);
        assert!(text.contains("<testsuite name=\"a&amp;b\" tests=\"2\" failures=\"1\""), "{text}");
        assert!(
            text.contains("name=\"good\"/>")
                && text.contains("<failure message=\"&lt;x&gt;\">&lt;x&gt;\nmore</failure>"),
            "{text}"
        );
    }
}
