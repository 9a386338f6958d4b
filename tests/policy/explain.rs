//! What `explain` says of a call is what the call gets.

use super::support::Skill;
use super::trial::{Trial, policy, value};
use serde_json::Value;
use std::fmt::Write as _;

fn explain(word: &str, call: &str) -> Value {
    value(&["explain", word, call, "--format", "json"])
}

fn verdicts(explained: &Value) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    explained["answers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| (word(&a["layer"]), word(&a["verdict"])))
        .collect()
}

/// Each call in words, and as Python makes it in a real jail.
const CALLS: [(&str, &str); 14] = [
    ("openat(\"/etc/passwd\", O_RDONLY)", "os.open('/etc/passwd', os.O_RDONLY)"),
    ("openat(\"/etc/shadow\", O_RDONLY)", "os.open('/etc/shadow', os.O_RDONLY)"),
    ("openat(\"/etc/passwd\", O_WRONLY)", "os.open('/etc/passwd', os.O_WRONLY)"),
    ("openat(\"/etc/new\", O_WRONLY|O_CREAT)", "os.open('/etc/new', os.O_WRONLY | os.O_CREAT)"),
    ("openat(\"/workdir/new\", O_RDWR|O_CREAT)", "os.open('/workdir/new', os.O_RDWR | os.O_CREAT)"),
    ("openat(\"here\", O_RDWR|O_CREAT)", "os.open('here', os.O_RDWR | os.O_CREAT)"),
    ("openat(\"/tmp/../etc/new\", O_WRONLY|O_CREAT)", "os.open('/tmp/../etc/new', os.O_WRONLY | os.O_CREAT)"),
    ("openat(\"/dev/null\", O_WRONLY)", "os.open('/dev/null', os.O_WRONLY)"),
    ("openat(\"/proc/self/mem\", O_RDONLY)", "os.open('/proc/self/mem', os.O_RDONLY)"),
    ("mkdir(\"/skill/x\")", "os.mkdir('/skill/x')"),
    ("socket(AF_INET, SOCK_STREAM, 0)", "__import__('socket').socket()"),
    ("socket(AF_UNIX, SOCK_STREAM, 0)", "__import__('socket').socket(1)"),
    ("chroot(\"/workdir\")", "os.chroot('/workdir')"),
    ("kill(0, 0)", "os.kill(0, 0)"),
];

#[test]
fn the_outcome_is_what_a_script_in_the_jail_sees() {
    let mut script = String::from("import errno, json, os\nseen = []\n");
    for (_, python) in CALLS {
        let _ = write!(
            script,
            "try:\n    {python}\n    seen.append('runs')\nexcept OSError as e:\n    seen.append(errno.errorcode[e.errno])\n"
        );
    }
    script.push_str("print(json.dumps(seen))\n");
    let ran = Skill::new(&script).run().go();
    let seen = ran.value();
    for ((call, _), got) in CALLS.iter().zip(seen.as_array().unwrap()) {
        let (got, said) = (got.as_str().unwrap(), explain("default", call));
        let outcome = said["outcome"].as_str().unwrap();
        let right = if got == "runs" {
            outcome == "the call runs"
        } else {
            outcome.starts_with("refused by ") && outcome.contains(got)
        };
        assert!(right, "{call}: the jail says {got}, explain says {outcome}: {said:#}");
    }
}

#[test]
fn each_layer_answers_in_order_with_rule_reason_and_place() {
    let said = explain("default", "connect(93.184.216.34:443)");
    assert_eq!(
        verdicts(&said),
        [("seccomp".to_owned(), "refused".to_owned()), ("net".to_owned(), "not_reached".to_owned())]
    );
    let answer = &said["answers"][0];
    assert!(answer["place"].as_str().unwrap().starts_with("seccomp/default.json:"), "{said:#}");
    let line: usize = answer["place"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap();
    let text = std::fs::read_to_string("seccomp/default.json").unwrap();
    assert!(text.lines().nth(line - 1).unwrap().contains("connect"));
    assert!(said["answers"][1]["what"].as_str().unwrap().contains("93.184.216.34:443"));
    let file = explain("default", "openat(\"/usr/lib/x\", O_WRONLY)");
    assert_eq!(
        verdicts(&file).iter().map(|(layer, _)| layer.as_str()).collect::<Vec<_>>(),
        ["seccomp", "mounts", "landlock"]
    );
    assert_eq!(explain("default", "clone3")["answers"][0]["errno"], "ENOSYS");
}

#[test]
fn what_is_left_open_is_told_exactly() {
    let said = explain("default", "fcntl");
    assert_eq!(verdicts(&said)[0].1, "depends");
    let what = said["answers"][0]["what"].as_str().unwrap();
    assert!(
        what.contains("the call runs where cmd = F_DUPFD_CLOEXEC") && what.contains("F_SETPIPE_SZ"),
        "{what}"
    );
    assert_eq!(verdicts(&explain("default", "fcntl(cmd=F_SETPIPE_SZ)"))[0].1, "refused");
    assert_eq!(verdicts(&explain("default", "fcntl(cmd=F_GETFD)"))[0].1, "allowed");
}

/// The suggested change, made in a filter of one's own, lets exactly that call through.
#[test]
fn the_suggested_change_works() {
    for call in [
        "socket(AF_INET, SOCK_STREAM, 0)",
        "ptrace(16)",
        "clone3",
        "fcntl(cmd=F_SETPIPE_SZ)",
        "connect",
        "ioctl(cmd=TIOCSTI)",
    ] {
        let suggestion = &explain("default", call)["suggestion"];
        assert_eq!(suggestion["tried"], true, "{call}: {suggestion:#}");
        let entry = suggestion["add"].clone();
        let trial = Trial::new().filter(|filter| {
            let name = entry["call"].as_str().unwrap();
            if !suggestion["remove"].as_array().unwrap().is_empty() {
                super::trial::remove(filter, name);
            }
            let group = serde_json::json!({ "group": "added", "action": "allow", "reason": "as suggested", "calls": [entry] });
            filter["groups"].as_array_mut().unwrap().push(group);
        });
        let said = explain(&trial.word(), call);
        assert_eq!(verdicts(&said)[0].1, "allowed", "{call}: {said:#}");
    }
    assert_eq!(explain("default", "ptrace")["suggestion"]["guarantees"], serde_json::json!(["never ptrace"]));
    assert_eq!(explain("default", "read")["suggestion"], Value::Null);
}

#[test]
fn a_connection_is_judged_by_the_egress_part() {
    let net = |word: &str, call: &str| {
        let explained = explain(word, call);
        let answers = explained["answers"].as_array().unwrap();
        answers.iter().find(|answer| answer["layer"] == "net").unwrap().clone()
    };
    for (word, call, verdict, said) in [
        ("egress", "connect(93.184.216.34:443)", "depends", "example.org, www.example.org"),
        ("egress-public", "connect(93.184.216.34:443)", "allowed", "this very address"),
        ("egress-public", "connect(93.184.216.34:22)", "refused", "nobody listens on port 22"),
        ("egress-public", "connect(169.254.169.254:80)", "refused", "link local"),
        ("egress-public", "connect([64:ff9b::a00:1]:443)", "refused", "NAT64"),
        ("default", "connect(93.184.216.34:443)", "not_reached", "no way to 93.184.216.34:443"),
    ] {
        let answer = net(word, call);
        assert_eq!(answer["verdict"], verdict, "{word} {call}: {answer}");
        assert!(answer["what"].as_str().unwrap().contains(said), "{word} {call}: {answer}");
    }
    let shown = policy(&["show", "egress"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("Only the names example.org:443, www.example.org:443 can be reached"), "{shown}");
}

#[test]
fn an_address_is_one_with_quotes_or_without() {
    for call in ["connect(169.254.169.254:443)", "connect(\"169.254.169.254:443\")"] {
        let told = explain("egress", call);
        let refused = ("net".to_owned(), "refused".to_owned());
        assert!(verdicts(&told).contains(&refused), "{call}: {told:#}");
    }
    // And where there is a network there are certificates to read.
    let certificates = explain("egress", "openat(\"/etc/ssl/certs/ca-certificates.crt\", O_RDONLY)");
    assert!(verdicts(&certificates).iter().all(|(_, verdict)| verdict == "allowed"), "{certificates:#}");
    let stub = explain("egress", "connect(127.0.0.53:53)");
    assert!(verdicts(&stub).contains(&("net".to_owned(), "allowed".to_owned())), "{stub:#}");
}

#[test]
fn what_is_not_understood_gets_near_misses() {
    for (call, said) in [
        ("sokcet", "did you mean socket?"),
        ("socket(AF_INTE)", "did you mean AF_INET"),
        ("openat(", "is not a call"),
        ("write(\"/etc/passwd\")", "is an address of memory, and no path"),
    ] {
        let printed = policy(&["explain", "default", call]);
        assert_eq!(printed.code, 2, "{call}");
        assert!(printed.err.contains(said), "{call}: {}", printed.err);
    }
}
