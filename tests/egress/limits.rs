//! Budgets: reaching one is told, and nothing passes beyond it; and what else is told of a run with a network.

use super::support::{SKILLJAIL, feed, own_runtime};
use super::world::{alone, entries, policy, run, skill, world};
use serde_json::json;
use std::process::Command;

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
    assert_eq!(ran.limit("egress.max_connections")["reached"], "yes");
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
    let of = |value: &'static str| policy(move |p| p["egress"]["max_bytes"]["value"] = value.into());
    let ran = run(script, &of("1 MiB"));
    assert_eq!(ran.value(), json!(-1), "{ran:?}");
    assert!(ran.report["egress"].to_string().contains("more bytes than the policy allows a run"));
    assert_eq!(ran.limit("egress.max_bytes")["value"], 1 << 20);
    assert!(run(script, &of("64 MiB")).value().as_i64().unwrap() > 9_000_000);
}

/// Whatever the number of connections and the size of the pieces, and in both directions.
#[test]
fn no_byte_passes_beyond_the_budget() {
    let _alone = alone();
    let script = r"
import json, socket
socks = [socket.create_connection(('api.example.org', 8085), 5) for _ in range(20)]
for s in socks: s.setblocking(False)
refused = 0
for s in socks:
    try:
        for _ in range(64): s.send(b'x' * 8192)
    except BlockingIOError: pass
    except OSError: refused += 1
d, count = socket.socket(), 0
try:
    d.connect(('api.example.org', 80)); d.sendall(b'GET /bytes/9000000 HTTP/1.0\r\nHost: h\r\n\r\n')
    while part := d.recv(65536): count += len(part)
except OSError: pass
print(count)";
    let before = world().canaries("sink ");
    let ran = run(script, &policy(|p| p["egress"]["max_bytes"]["value"] = "100 KiB".into()));
    let down = ran.value().as_u64().unwrap();
    let sunk = || -> Vec<u64> {
        let new = world().said("sink ").split_off(before);
        new.iter().filter_map(|line| line.strip_prefix("sink ")?.parse().ok()).collect()
    };
    // Each of them is told that its connection is over.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while sunk().len() < 20 && std::time::Instant::now() < end {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let up: u64 = sunk().iter().sum();
    assert!(up > 0 && up + down <= 100 << 10, "{up} up, {down} down: {ran:?}");
    let told: u64 = entries(&ran, &[("what", json!("connection"))])
        .iter()
        .map(|entry| entry["bytes_out"].as_u64().unwrap() + entry["bytes_in"].as_u64().unwrap())
        .sum();
    assert!(told >= up + down && told <= 100 << 10, "{told}: {ran:?}");
    assert_eq!(ran.limit("egress.max_bytes")["reached"], "yes");
    assert_eq!(ran.limit("egress.max_connections")["reached"], "no");
}

/// A budget that is used up to its last byte is none that was passed.
#[test]
fn a_budget_that_just_suffices() {
    let script = r"
import socket
s = socket.create_connection(('api.example.org', 8080), 5)
s.sendall(b'x' * 512); s.shutdown(socket.SHUT_WR)
count = 0
while part := s.recv(4096): count += len(part)
print(count)";
    let ran = run(script, &policy(|p| p["egress"]["max_bytes"]["value"] = "580 B".into()));
    // The count and a digest in hexadecimal come back.
    assert_eq!(ran.value(), 68, "{ran:?}");
    assert_eq!(ran.limit("egress.max_bytes")["reached"], "no");
}

/// The question has left, whatever is answered, and whether the script waits for it.
#[test]
fn every_lookup_that_left_is_written_down() {
    let script = r"
import json, socket, struct
def question(name):
    labels = b''.join(bytes([len(part)]) + part.encode() for part in name.split('.')) + b'\0'
    return struct.pack('>HHHHHH', 7, 0x100, 1, 0, 0, 0) + labels + struct.pack('>HH', 1, 1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5); s.connect(('127.0.0.53', 53))
s.send(question('empty.example.org')); code = s.recv(512)[3] & 15
s.send(question('silent.example.org')); s.send(question('api.example.org')); s.recv(512)
print(code)";
    let ran = run(script, &policy(|_| ()));
    assert_eq!(ran.value(), 0, "{ran:?}");
    let of = |name: &str| {
        let found = entries(&ran, &[("what", json!("lookup")), ("name", json!(name))]);
        assert_eq!(found.len(), 1, "{name}: {ran:?}");
        (found[0]["verdict"].clone(), found[0]["reason"].as_str().unwrap().to_owned())
    };
    let (verdict, reason) = of("empty.example.org");
    assert!(verdict == "allowed" && reason.contains("no address of this kind"), "{reason}");
    let (verdict, reason) = of("silent.example.org");
    assert!(verdict == "failed" && reason.contains("the run ended"), "{reason}");
}

/// A program is told only that there is no such name; whoever started it, that the policy refused it.
#[test]
fn a_refusal_is_told_on_stderr() {
    let skill = skill(
        "import socket\ntry: socket.getaddrinfo('other.example.net', 80)\nexcept OSError: pass\nfor port in (80, 22):\n    try: socket.create_connection(('10.9.9.9', port), 2)\n    except OSError: pass\nprint('{}')",
    );
    let policy = policy(|_| ());
    let words = world().inside();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args([SKILLJAIL, "run", "--runtime"]).arg(own_runtime());
    command.arg("--policy").arg(policy.path()).arg(skill.path()).arg("main.py");
    let output = feed(command, b"{}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let line =
        "skilljail: refused by the policy's egress: other.example.net, 10.9.9.9 port 80, 10.9.9.9 port 22 (";
    assert!(text.starts_with(line), "{text}");
}

/// What a script tries a thousand times does not push out what it did; what came too fast to be read is counted.
#[test]
fn a_flood_of_attempts_hides_nothing() {
    let script = r"
import json, socket
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def attempts():
    sent = 0
    for port in range(1000, 4000):
        try: u.sendto(b'x', ('93.184.216.34', port)); sent += 1
        except OSError: pass
    return sent
sent = attempts()
u.sendto(b'x', ('127.0.0.53', 5353))
s = socket.create_connection(('api.example.org', 8085), 5)
s.sendall(b'EXFIL' * 1000); s.close()
try: socket.create_connection(('10.9.9.9', 80), 2)
except OSError: pass
print(sent)";
    let ran = run(script, &policy(|_| ()));
    let carried = entries(&ran, &[("what", json!("connection")), ("verdict", json!("allowed"))]);
    assert_eq!(carried.len(), 1, "{ran:?}");
    assert_eq!(carried[0]["bytes_out"], 5000);
    assert!(
        !entries(&ran, &[("address", json!("10.9.9.9")), ("verdict", json!("refused"))]).is_empty(),
        "{ran:?}"
    );
    let total = ran.report["egress_total"].as_u64().unwrap();
    // ICMP's answers make some sends fail, after the packet of an earlier one left.
    assert!(total >= ran.value().as_u64().unwrap(), "{total}: {ran:?}");
    assert!(ran.report["egress_lost"].is_u64());
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
    assert_eq!(ran.limit("egress.dns.max_lookups")["reached"], "yes");
}
