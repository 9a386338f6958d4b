//! The server name of TLS, read and never ended.

use super::world::{entries, policy, run};
use serde_json::json;

const HELPER: &str = r"
import json, socket, ssl
said = {}
context = ssl.create_default_context()
def hello(name):
    context.check_hostname = name is not None
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try: tls.do_handshake()
    except ssl.SSLWantReadError: pass
    return outgoing.read()
def attempt(key, f):
    try: said[key] = repr(f())
    except OSError as e: said[key] = type(e).__name__
def raw(data, size, host='api.example.org'):
    s = socket.create_connection((host, 443), 5)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for at in range(0, len(data), size): s.sendall(data[at:at + size])
    return s.recv(1)
";

#[test]
fn the_server_name_must_be_an_allowed_one_of_this_address() {
    let script = format!(
        "{HELPER}{}",
        r"
socket.getaddrinfo('api.example.org', 443)
attempt('right', lambda: raw(hello('api.example.org'), 100000))
attempt('folded', lambda: raw(hello('API.example.ORG'), 100000))
attempt('pieces', lambda: raw(hello('api.example.org'), 7))
attempt('neighbour', lambda: raw(hello('other.example.org'), 100000))
attempt('elsewhere', lambda: raw(hello('second.example.org'), 100000))
attempt('absent', lambda: raw(hello(None), 100000))
attempt('plain', lambda: raw(b'GET / HTTP/1.0\r\n\r\n', 100000))
attempt('half', lambda: raw(hello('api.example.org')[:40], 100000))
print(json.dumps(said))"
    );
    let policy = policy(|p| {
        p["egress"]["allow"] = json!([{"name": "api.example.org", "ports": [443], "reason": "r"}]);
        p["egress"]["connect_timeout"]["value"] = "1 s".into();
    });
    let ran = run(&script, &policy);
    let said = ran.value();
    for key in ["right", "folded", "pieces"] {
        assert_eq!(said[key], "b'\\x16'", "{key}: {said}");
    }
    for key in ["neighbour", "elsewhere", "absent", "plain", "half"] {
        assert_eq!(said[key], "ConnectionResetError", "{key}: {said}");
    }
    let reasons: Vec<&str> = entries(&ran, &[("verdict", json!("refused"))])
        .iter()
        .map(|e| e["reason"].as_str().unwrap())
        .collect();
    for reason in [
        "the server name other.example.org is no allowed name that has this address",
        "the server name second.example.org is no allowed name that has this address",
        "the client hello has no server name",
        "the policy requires TLS with a server name, and this is no TLS handshake",
        "no whole client hello came in time",
    ] {
        assert!(reasons.contains(&reason), "{reason}: {reasons:?}");
    }
}

#[test]
fn it_can_be_written_down_only() {
    let script = format!(
        "{HELPER}{}",
        r"
attempt('other', lambda: raw(hello('anything.at.all'), 100000))
attempt('plain', lambda: raw(b'GET / HTTP/1.0\r\n\r\n', 100000))
print(json.dumps(said))"
    );
    let ran = run(&script, &policy(|p| p["egress"]["sni"] = "log".into()));
    assert_eq!(ran.value()["other"], "b'\\x16'", "{ran:?}");
    let all = ran.report["egress"].to_string();
    assert!(all.contains("the server name is anything.at.all") && all.contains("no TLS handshake"), "{all}");
}
