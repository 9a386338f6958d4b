//! What is shown is what is applied, and what it points to is there.

use super::support::{Skill, checkout};
use super::trial::{Trial, policy, value};
use skilljail::audit::{representative, sentences};
use skilljail::policy::{Policy, SHIPPED};

#[test]
fn json_is_the_plan_that_run_applies() {
    let shown = value(&["show", "default", "--format", "json"]);
    let policy = Policy::load("default").unwrap();
    let plan = representative::wanted(&policy).unwrap();
    assert_eq!(shown, serde_json::to_value(&plan).unwrap());
    let ran = Skill::new("print('{}')").run().go();
    assert_eq!(ran.report["digests"]["policy"], shown["policy_digest"]);
    assert_eq!(ran.report["digests"]["filter"], shown["seccomp"]["digest"]);
}

#[test]
fn every_sentence_holds_of_every_shipped_policy_and_names_tests_that_exist() {
    for (name, _) in SHIPPED {
        let policy = Policy::load(name).unwrap();
        let plan = representative::wanted(&policy).unwrap();
        let sentences = sentences::of(&policy, &plan);
        assert!(sentences.len() >= 10);
        for sentence in sentences {
            assert!(
                sentence.holds && !sentence.proof.is_empty() && !sentence.by.is_empty(),
                "{name}: {sentence:?}"
            );
        }
    }
    assert!(sentences::tests().count() > 15);
    for test in sentences::tests() {
        let (file, function) = test.split_once(' ').unwrap();
        let text = std::fs::read_to_string(checkout().join(file)).expect(file);
        assert!(text.contains(&format!("#[test]\nfn {function}()")), "{test}");
    }
}

#[test]
fn a_sentence_that_a_policy_breaks_is_marked_with_the_contrary_and_an_input() {
    let trial = Trial::new().allow(serde_json::json!({"call": "execve", "reason": "for this trial"}));
    let shown = policy(&["show", &trial.word()]).out;
    assert!(shown.contains("[NOT  ] No other program can be executed"), "{shown}");
    let because =
        "because Another program can be executed. `never execve` does not hold: execve(pathname=0x0";
    assert!(shown.contains(because), "{shown}");
    assert!(shown.contains("left is landlock: the right to execute"), "{shown}");
    // Of what is reached with the server name unseen the sentence does not claim what it cannot.
    let unseen = Trial::of("egress").set("/egress/sni", "off");
    let shown = policy(&["show", &unseen.word()]).out;
    assert!(shown.contains("On port 443 no server name is looked at"), "{shown}");
    assert!(shown.contains("a shared address opens its neighbours"), "{shown}");
    assert!(shown.contains("[holds] No process can be started"), "{shown}");
}

#[test]
fn a_new_reviewer_finds_the_answers_in_the_page() {
    let trial = Trial::new().set("/limits/stdout/value", "63 KiB");
    let word = trial.word();
    for (word, stdout) in [("default", "64 KiB"), (word.as_str(), "63 KiB")] {
        let printed = policy(&["show", word, "--format", "html"]);
        assert_eq!(printed.code, 0, "{}", printed.err);
        for answer in [
            "No file of the host can be read but the pinned Python&#x27;s: /etc/passwd in the jail is a made file",
            "169.254.169.254",
            stdout,
            "one byte more: killed, nothing of it is printed: `output_limit`, exit 123",
            "fork and vfork are refused",
            "<svg",
        ] {
            assert!(printed.out.contains(answer), "{word}: {answer}");
        }
        // What differs from the policy that everybody knows; of that one itself there is nothing to tell.
        assert_eq!(printed.out.contains("id=\"differences\""), word != "default", "{word}");
    }
    let egress = policy(&["show", "egress"]).out;
    let differences = &egress[egress.find("against default").expect("the section is there")..];
    for line in ["seccomp socket", "seccomp connect", "network"] {
        assert!(differences.contains(line), "{line}: {differences}");
    }
    let other = policy(&["show", &word]).out;
    let differences = &other[other.find("against default").expect("the section is there")..];
    assert!(differences.contains("limits stdout") && !differences.contains("seccomp"), "{differences}");
}

#[test]
fn the_page_needs_nothing_else() {
    let page = policy(&["show", "strict", "--format", "html"]).out;
    for outside in ["<script", "src=", "http://", "https://", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    for wanted in ["prefers-color-scheme: dark", "@media print", "id=\"seccomp\"", "href=\"#limits\""] {
        assert!(page.contains(wanted), "{wanted}");
    }
}

/// Words of the picture that are longer than their wall are cut off by the next edge.
#[test]
fn the_picture_holds_its_words() {
    for word in ["default", "strict", "egress", "egress-public", "tfrobot"] {
        let page = policy(&["show", word, "--format", "html"]).out;
        let picture = &page[page.find("<svg").unwrap()..page.find("</svg>").unwrap()];
        for words in picture.split("<tspan dx=\"10\">").skip(1) {
            let words = words.split('<').next().unwrap();
            assert!(words.chars().count() <= 100, "{word}: {words}");
        }
    }
}

#[test]
fn text_of_a_policy_cannot_leave_its_place() {
    let trial = Trial::new().set("/description", "<script>alert(1)</script> \u{1b}[2J");
    let word = trial.word();
    let page = policy(&["show", &word, "--format", "html"]).out;
    assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<script>"), "{page}");
    let text = policy(&["show", &word]).out;
    assert!(text.contains("\\u{1b}[2J") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn an_older_kernel_is_told_what_it_loses() {
    let old = policy(&["show", "default", "--kernel", "5.15"]);
    assert_eq!(old.code, 1, "{}", old.out);
    assert!(
        old.out.contains("NOTHING RUNS") && old.out.contains("Landlock ABI 2 (Linux 5.19)"),
        "{}",
        old.out
    );
    let debian = policy(&["show", "default", "--kernel", "6.1.0-18-amd64"]);
    assert_eq!(debian.code, 0, "{}", debian.out);
    assert!(debian.out.contains("weaker") && debian.out.contains("Landlock ABI 6"), "{}", debian.out);
    let wrong = policy(&["show", "default", "--kernel", "new"]);
    assert_eq!(wrong.code, 2, "{}", wrong.err);
}

#[test]
fn an_unknown_policy_is_refused() {
    let printed = policy(&["show", "defualt"]);
    assert_eq!(printed.code, 122);
    assert!(printed.err.contains("no policy \"defualt\" is shipped"), "{}", printed.err);
}
