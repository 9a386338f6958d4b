//! Our verdict on the open standard and that of its own validator, `skills-ref`, over packages written for this test:
//! valid ones, and ones that are broken in one way each. Where the two differ, the reason stands beside the package.

use skilljail::skill::check::check;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version whose verdicts are written down below.
const SKILLS_REF: &str = "skills-ref==0.1.1";

struct Case {
    /// What it is about; the folder is made of its number.
    about: &'static str,
    /// SKILL.md, in which `NAME` stands for the folder's name.
    text: String,
    /// Our verdict.
    ours: bool,
    /// That of `skills-ref`.
    theirs: bool,
    /// Why the two differ.
    reason: &'static str,
    /// The file's name.
    file: &'static str,
}

fn case(
    about: &'static str,
    ours: bool,
    theirs: bool,
    reason: &'static str,
    text: impl Into<String>,
) -> Case {
    Case { about, text: text.into(), ours, theirs, reason, file: "SKILL.md" }
}

fn good(about: &'static str, text: impl Into<String>) -> Case {
    case(about, true, true, "", text)
}

fn bad(about: &'static str, text: impl Into<String>) -> Case {
    case(about, false, false, "", text)
}

fn with(lines: &str) -> String {
    format!("---\nname: NAME\ndescription: Does a thing.\n{lines}---\nBody\n")
}

fn described(description: &str) -> String {
    format!("---\nname: NAME\ndescription: {description}\n---\nBody\n")
}

fn named(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does a thing.\n---\nBody\n")
}

fn valid() -> Vec<Case> {
    vec![
        good("the least", with("")),
        good("no body", "---\nname: NAME\ndescription: D.\n---\n"),
        good("no newline at the end", "---\nname: NAME\ndescription: D.\n---"),
        good("name in single quotes", named("'NAME'")),
        good("name in double quotes", named("\"NAME\"")),
        good("license", with("license: Apache-2.0\n")),
        good("license in a sentence", with("license: Proprietary. LICENSE.txt has the terms\n")),
        good("compatibility", with("compatibility: Needs git and the network\n")),
        good("compatibility of 500 characters", with(&format!("compatibility: {}\n", "x".repeat(500)))),
        good("metadata", with("metadata:\n  author: somebody\n  version: \"1.0\"\n")),
        good("metadata in metadata's own words", with("metadata:\n  name: other\n  description: other\n")),
        good("allowed-tools", with("allowed-tools: Bash(git:*) Read\n")),
        good("allowed-tools as a list", with("allowed-tools:\n  - Read\n  - Write\n")),
        good(
            "all fields",
            with("license: MIT\ncompatibility: any\nmetadata:\n  a: b\nallowed-tools: Read\n"),
        ),
        good("other order", "---\ndescription: D.\nlicense: MIT\nname: NAME\n---\n"),
        good("a folded description", described(">\n  Does one thing\n  and another.")),
        good("a literal description", described("|\n  Does one thing.\n  And another.")),
        good("a description with a colon in quotes", described("\"Does this: that\"")),
        good("a description with an apostrophe", described("It's good")),
        good("a description in another script", described("Считает слова. 数单词。")),
        good("a description of 1,024 characters", described(&"x".repeat(1_024))),
        good("a description of 1,024 wide characters", described(&"語".repeat(1_024))),
        good("comments", with("# a comment\nlicense: MIT # another\n")),
        good("blank lines", with("\n\nlicense: MIT\n\n")),
        good("a rule in the body", with("").replace("Body", "Above\n\n---\n\nBelow")),
        good("a fence in the body", with("").replace("Body", "```yaml\n---\nname: x\n---\n```")),
        good("HTML in the body", with("").replace("Body", "<b>&amp;</b>")),
        good("windows line ends", with("license: MIT\n").replace('\n', "\r\n")),
        good("blanks after the values", described("Does a thing.   ")),
        good("a hash inside a word", described("Uses C# and F#.")),
        good("a description in two lines", described("Does one thing\n  and another.")),
        good("dashes in the last value", described("Before --- after")),
        good("a long body", with("").replace("Body", &"Line.\n".repeat(5_000))),
    ]
}

fn broken() -> Vec<Case> {
    vec![
        bad("empty file", ""),
        bad("no frontmatter", "# Title\n"),
        bad("a blank line before the fence", with("").replacen("---", "\n---", 1)),
        bad("a byte order mark", format!("\u{feff}{}", with(""))),
        bad("no closing fence", "---\nname: NAME\ndescription: D.\n"),
        bad("a list", "---\n- name\n- description\n---\n"),
        bad("a text", "---\njust words\n---\n"),
        bad("nothing between the fences", "---\n---\n"),
        bad("no name", "---\ndescription: D.\n---\n"),
        bad("no description", "---\nname: NAME\n---\n"),
        bad("an empty name", named("")),
        bad("an empty name in quotes", named("\"\"")),
        bad("an empty description", described("")),
        bad("a blank description", described("\"   \"")),
        bad("a description of 1,025 characters", described(&"x".repeat(1_025))),
        bad("compatibility of 501 characters", with(&format!("compatibility: {}\n", "x".repeat(501)))),
        bad("a name in capitals", named("NAME-X").replace("NAME-X", "Name")),
        bad("a name that begins with a hyphen", named("-NAME")),
        bad("a name that ends with a hyphen", named("NAME-")),
        bad("a name with two hyphens", named("na--me")),
        bad("a name with an underscore", named("na_me")),
        bad("a name with a blank", named("na me")),
        bad("a name with a dot", named("na.me")),
        bad("a name with a slash", named("na/me")),
        bad("a name that is not the folder's", named("other")),
        bad("a name of 65 characters", named(&"x".repeat(65))),
        bad("a list for a name", named("[NAME]")),
        bad("a list for a description", described("\n  - a\n  - b")),
        bad("a mapping for compatibility", with("compatibility:\n  a: b\n")),
        bad("a key twice", with("description: Other.\n")),
        bad("a colon in a bare value", described("Does this: that")),
        bad("a tab for indentation", with("metadata:\n\ta: b\n")),
        bad("a quote that is not closed", described("\"Does a thing")),
        bad("a bracket that is not closed", with("allowed-tools: [a, b\n")),
        bad("a tag", with("license: !x MIT\n")),
        bad("an anchor", with("license: &x MIT\n")),
        bad("an alias", with("metadata:\n  a: &x b\n  c: *x\n")),
        Case { file: "README.md", ..bad("no SKILL.md", with("")) },
    ]
}

fn different() -> Vec<Case> {
    vec![
        case(
            "our runtime",
            true,
            false,
            "`runtime` is this program's own field",
            with("runtime: prompt-only\n"),
        ),
        case(
            "a field of another client",
            true,
            false,
            "extensions are told, not refused",
            with("version: two\n"),
        ),
        case(
            "flow style",
            true,
            false,
            "YAML all the same; skills-ref reads a strict subset",
            with("allowed-tools: [Read, Write]\n"),
        ),
        case(
            "dashes in a value",
            true,
            false,
            "skills-ref ends the frontmatter at any `---`",
            "---\nname: NAME\nlicense: a --- b\ndescription: D.\n---\n",
        ),
        case(
            "a name that YAML reads as a number",
            false,
            true,
            "skills-ref takes every scalar for text; other clients do not",
            named("123"),
        ),
        case(
            "a description that YAML reads as a date",
            false,
            true,
            "skills-ref takes every scalar for text",
            described("2024-01-01"),
        ),
        case(
            "a description that YAML reads as a boolean",
            false,
            true,
            "skills-ref takes every scalar for text",
            described("on"),
        ),
        case(
            "a name in another script",
            false,
            true,
            "the specification's rule is a-z, 0-9 and hyphens",
            named("имя"),
        ),
        Case {
            file: "skill.md",
            ..case("skill.md", false, true, "the specification says SKILL.md", with(""))
        },
        case(
            "metadata that is no mapping",
            false,
            true,
            "skills-ref does not look at it",
            with("metadata: text\n"),
        ),
        case(
            "allowed-tools that is a mapping",
            false,
            true,
            "skills-ref does not look at it",
            with("allowed-tools:\n  a: b\n"),
        ),
        case(
            "license that is a list",
            false,
            true,
            "skills-ref does not look at it",
            with("license:\n  - a\n"),
        ),
        case(
            "a frontmatter of 70 KiB",
            false,
            true,
            "it is bounded before it is parsed",
            with(&format!("license: {}\n", "x".repeat(70_000))),
        ),
        case(
            "nesting beyond 16",
            false,
            true,
            "it is bounded before it is parsed",
            with(&format!(
                "metadata:\n{}",
                (1..20).map(|n| " ".repeat(n) + "a:\n").collect::<String>() + &" ".repeat(20) + "b: c\n"
            )),
        ),
        case(
            "a control character",
            false,
            true,
            "skills-ref does not look at values",
            with("license: \"\\a\"\n"),
        ),
    ]
}

/// Writes the packages, each into a folder whose name is the one that it should have.
fn write(cases: &[Case], below: &Path) -> Vec<PathBuf> {
    let folders = cases.iter().enumerate().map(|(number, case)| {
        // These three are about the name itself.
        let name = match case.about {
            "a name that YAML reads as a number" => "123".to_owned(),
            "a name in another script" => "имя".to_owned(),
            _ => format!("case-{number}"),
        };
        let folder = below.join(&name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(case.file), case.text.replace("NAME", &name)).unwrap();
        folder
    });
    folders.collect()
}

fn all() -> Vec<Case> {
    valid().into_iter().chain(broken()).chain(different()).collect()
}

#[test]
fn our_verdicts_are_those_of_the_validator_or_have_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let below = dir.path().canonicalize().unwrap();
    let cases = all();
    for (case, folder) in cases.iter().zip(write(&cases, &below)) {
        let verdict = check(&folder, None).unwrap();
        let findings: Vec<String> =
            verdict.findings.iter().map(|f| format!("{} {}: {}", f.rule.id, f.place(), f.what)).collect();
        assert_eq!(verdict.standard, case.ours, "{}: {findings:?}", case.about);
        assert_eq!(
            case.ours != case.theirs,
            !case.reason.is_empty(),
            "{}: a difference and its reason",
            case.about
        );
    }
    assert!(valid().len() >= 30 && broken().len() >= 30);
    for case in broken() {
        assert!(!case.ours && !case.theirs, "{}", case.about);
    }
}

/// Makes a virtual environment with packages from PyPI; returns its interpreter.
pub fn venv(dir: &Path, packages: &[&str]) -> PathBuf {
    let run = |command: &mut Command| {
        let output =
            command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; a Python 3 is needed"));
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{command:?} failed; this test needs python3 with venv, and PyPI: {told}"
        );
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(dir.join("venv")));
    let python = dir.join("venv/bin/python");
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(packages));
    python
}

/// The verdicts that are written down for `skills-ref` are the ones that it gives. Needs a Python with venv, and PyPI.
#[test]
#[cfg_attr(not(feature = "registry"), ignore = "installs skills-ref from PyPI: make test-data")]
fn skills_ref_says_what_is_written_down() {
    let dir = tempfile::tempdir().unwrap();
    let below = dir.path().canonicalize().unwrap().join("packages");
    fs::create_dir(&below).unwrap();
    let cases = all();
    let folders = write(&cases, &below);
    let python = venv(dir.path(), &[SKILLS_REF]);
    let program = "import json, pathlib, sys\n\
                   from skills_ref.validator import validate\n\
                   print(json.dumps([validate(pathlib.Path(p)) for p in sys.argv[1:]]))\n";
    let output = Command::new(python).args(["-c", program]).args(&folders).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let faults: Vec<Vec<String>> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(faults.len(), cases.len());
    for (case, faults) in cases.iter().zip(faults) {
        assert_eq!(faults.is_empty(), case.theirs, "{}: {faults:?}", case.about);
    }
}
