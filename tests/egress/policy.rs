//! What the skill asks for, what the policy has, what the caller narrows.

use super::support::Skill;
use super::world::{alone, entries, policy, run, run_of, skill, world};
use serde_json::json;

const ASK: &str = r"
import json, socket
def ask(host, port):
    try:
        s = socket.create_connection((host, port), 5)
        s.sendall(b'GET / HTTP/1.0\r\nHost: h\r\n\r\n')
        return s.recv(12).decode()
    except OSError as e: return type(e).__name__
";

#[test]
fn a_skill_that_asks_under_a_policy_without_is_refused_before_anything_runs() {
    let ran = skill("print('ran')").run().go();
    assert_eq!(
        (ran.status(), ran.code, ran.report["error"]["id"].as_str()),
        ("skill_rejected", 121, Some("network_refused"))
    );
    assert_eq!(ran.report["layers"], json!([]));
}

#[test]
fn a_skill_that_does_not_ask_has_no_network() {
    let policy = policy(|_| {});
    let ran =
        run_of(&Skill::new(&format!("{ASK}\nprint(json.dumps(ask('93.184.216.34', 80)))")), &policy).go();
    assert_eq!(ran.value(), "PermissionError", "{ran:?}");
    let net = ran.report["layers"].as_array().unwrap().iter().find(|layer| layer["name"] == "net").unwrap();
    assert_eq!(net["details"]["mode"], "none");
    assert_eq!(ran.report["egress"], json!([]));
}

#[test]
fn the_caller_narrows_and_never_widens() {
    let policy = policy(|_| {});
    let skill = skill(&format!(
        "{ASK}\nprint(json.dumps([ask('api.example.org', 80), ask('second.example.org', 80), ask('api.example.org', 8084)]))"
    ));
    let ran = run_of(&skill, &policy).args(["--egress-allow", "API.example.org:80"]).go();
    assert_eq!(ran.value(), json!(["HTTP/1.1 200", "gaierror", "ConnectionRefusedError"]), "{ran:?}");
    assert_eq!(ran.report["policy_modified"], true);
    for word in ["example.com:80", "api.example.org:81", "*.org:80", "api.example.org", "10.9.9.9:80"] {
        let ran = run_of(&skill, &policy).args(["--egress-allow", word]).go();
        assert_eq!((ran.status(), ran.code), ("policy_rejected", 122), "{word}: {ran:?}");
    }
    let ran = Skill::new("print(1)").run().args(["--egress-allow", "a.example.org:80"]).go();
    assert_eq!(ran.status(), "policy_rejected", "{ran:?}");
}

#[test]
fn an_empty_list_allows_nothing() {
    let policy = policy(|p| p["egress"]["allow"] = json!([]));
    let ran = run(
        &format!("{ASK}\nprint(json.dumps([ask('api.example.org', 80), ask('93.184.216.34', 80)]))"),
        &policy,
    );
    assert_eq!(ran.value(), json!(["gaierror", "ConnectionRefusedError"]), "{ran:?}");
}

#[test]
fn mode_public_reaches_every_public_address_and_no_other() {
    let _alone = alone();
    let before = world().canaries("10.9.9.9");
    let policy = policy(|p| {
        p["egress"]["mode"] = "public".into();
        p["egress"].as_object_mut().unwrap().remove("allow");
        p["egress"]["ports"] = json!([{"port": 80, "reason": "r"}]);
        p["egress"]["deny"] = json!([{"network": "93.184.216.35/32", "reason": "ours"}]);
    });
    let hosts = [
        "93.184.216.34",
        "target.example.net",
        "10.9.9.9",
        "private.example.org",
        "93.184.216.35",
        "second.example.org",
        "93.184.216.100",
    ];
    let ran = run(&format!("{ASK}\nprint(json.dumps([ask(h, 80) for h in {hosts:?}]))"), &policy);
    let (yes, reset, name) = ("HTTP/1.1 200", "ConnectionResetError", "gaierror");
    assert_eq!(ran.value(), json!([yes, yes, reset, name, reset, name, reset]), "{ran:?}");
    assert_eq!(world().canaries("10.9.9.9"), before);
    assert!(!entries(&ran, &[("reason", json!("an address of this host"))]).is_empty(), "{ran:?}");
}

/// DNS cannot say "not allowed by policy"; a text record of the same name does.
#[test]
fn the_reason_of_a_refusal_can_be_asked_for() {
    let script = r"
import json, socket, struct
def ask(name, kind, tcp=False):
    labels = b''.join(bytes([len(p)]) + p.encode() for p in name.split('.')) + b'\0'
    question = struct.pack('>HHHHHH', 7, 0x100, 1, 0, 0, 0) + labels + struct.pack('>HH', kind, 1)
    if tcp:
        s = socket.create_connection(('127.0.0.53', 53), 5)
        s.sendall(struct.pack('>H', len(question)) + question)
        answer = s.recv(struct.unpack('>H', s.recv(2))[0])
    else:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)
        s.sendto(question, ('127.0.0.53', 53)); answer = s.recv(4096)
    return [answer[3] & 15, struct.unpack('>H', answer[6:8])[0], answer.decode('latin-1'), answer[2] >> 1 & 1]
A, TXT, MX = 1, 16, 15
said = [ask('other.org', A), ask('other.org', TXT), ask('api.example.org', MX), ask('private.example.org', A), ask('private.example.org', TXT), ask('big.example.org', A), ask('big.example.org', A, True), ask('10.0.0.1', TXT), ask('nothing.example.org', A)]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for junk in [b'', b'x', bytes(12), b'\xff' * 600]: s.sendto(junk, ('127.0.0.53', 53))
said.append(ask('api.example.org', A))
print(json.dumps(said))";
    let ran = run(script, &policy(|_| {}));
    let said = ran.value();
    let code = |index: usize| said[index][0].as_u64().unwrap();
    let text = |index: usize| said[index][2].as_str().unwrap().to_owned();
    const REFUSED: u64 = 5;
    assert_eq!([code(0), code(1), code(2), code(3), code(8)], [REFUSED, 0, REFUSED, REFUSED, 3], "{said}");
    assert!(text(1).contains("refused by the policy trial: the policy does not list this name"), "{said}");
    assert!(text(4).contains("its addresses are not public"), "{said}");
    assert!(text(7).contains("refused by the policy"), "{said}");
    // Sixteen addresses fit in a datagram of 512 bytes; the host's resolver had cut its answer, and was asked by TCP.
    assert_eq!((code(5), &said[5][1]), (0, &json!(16)), "{said}");
    assert_eq!((code(6), &said[6][1]), (0, &json!(16)), "{said}");
    assert_eq!((code(9), &said[9][1]), (0, &json!(1)), "{said}");
    assert!(!entries(&ran, &[("name", json!("other.org")), ("verdict", json!("refused"))]).is_empty());
}
