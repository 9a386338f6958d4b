//! Budgets: reaching one is told, and nothing passes beyond it.

use super::world::{entries, policy, run};
use serde_json::json;

const ASK: &str = r"
import json, socket
def ask(keep=False):
    try:
        s = socket.create_connection(('api.example.org', 80), 5)
        if keep: return s
        s.sendall(b'GET / HTTP/1.0\r\nHost: h\r\n\r\n')
        return s.recv(12).decode()
    except OSError as e: return type(e).__name__
";

#[test]
fn connections_open_at_once_and_of_a_run() {
    // How long a close takes to arrive is the machine's: asked until there is room again, which the total bounds.
    let script = format!(
        "{ASK}\nimport time\nheld = [ask(True) for _ in range(3)]\nsaid = [ask()]\nheld.clear()\nfor _ in range(100):\n    time.sleep(0.1)\n    if (last := ask()) != 'ConnectionResetError': break\nprint(json.dumps(said + [last]))"
    );
    let ran = run(&script, &policy(|p| p["egress"]["max_connections"]["value"] = 3.into()));
    assert_eq!(ran.value(), json!(["ConnectionResetError", "HTTP/1.1 200"]), "{ran:?}");
    assert!(ran.report["egress"].to_string().contains("open at once"), "{ran:?}");
    let script = format!("{ASK}\nprint(json.dumps([ask() for _ in range(4)]))");
    let ran = run(&script, &policy(|p| p["egress"]["max_connections_total"]["value"] = 2.into()));
    let (yes, no) = ("HTTP/1.1 200", "ConnectionResetError");
    assert_eq!(ran.value(), json!([yes, yes, no, no]), "{ran:?}");
    assert!(
        ran.report["egress"].to_string().contains("more connections than the policy allows a run"),
        "{ran:?}"
    );
}

#[test]
fn bytes_of_a_run() {
    let script = r"
import socket
s = socket.create_connection(('api.example.org', 80), 5)
s.sendall(b'GET /bytes/9000000 HTTP/1.0\r\nHost: h\r\n\r\n')
count = 0
try:
    while part := s.recv(65536): count += len(part)
    print(count)
except ConnectionResetError: print(-1)";
    let limit = |value: &'static str| policy(move |p| p["egress"]["max_bytes"]["value"] = value.into());
    let ran = run(script, &limit("1 MiB"));
    assert_eq!(ran.value(), json!(-1), "{ran:?}");
    assert!(ran.report["egress"].to_string().contains("more bytes than the policy allows a run"));
    assert!(run(script, &limit("64 MiB")).value().as_i64().unwrap() > 9_000_000);
}

#[test]
fn lookups_of_a_run_and_their_time() {
    let script = r"
import json, socket, time
def ask(name):
    try: return socket.getaddrinfo(name, 80)[0][4][0]
    except OSError as e: return type(e).__name__
start = time.monotonic()
said = [ask('silent.example.org'), time.monotonic() - start < 10, ask('api.example.org'), ask('second.example.org')]
print(json.dumps(said))";
    let policy = policy(|p| {
        p["egress"]["dns"]["timeout"]["value"] = "1 s".into();
        p["egress"]["dns"]["max_lookups"]["value"] = 3.into();
    });
    let ran = run(script, &policy);
    assert_eq!(ran.value()[0], "gaierror", "{ran:?}");
    assert_eq!(ran.value()[1], true, "{ran:?}");
    assert_eq!(ran.value()[3], "gaierror", "{ran:?}");
    let wanted = [("name", json!("silent.example.org")), ("verdict", json!("failed"))];
    assert!(!entries(&ran, &wanted).is_empty(), "{ran:?}");
    assert!(
        ran.report["egress"].to_string().contains("more lookups than the policy allows a run"),
        "{ran:?}"
    );
}
