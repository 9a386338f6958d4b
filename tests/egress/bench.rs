//! What the relay costs, beside the same client outside of the jail, turn by turn in one run (`make bench-egress`).
#![cfg(feature = "bench")]
#![allow(clippy::print_stderr, reason = "figures are for people")]

use super::world::{policy, run, world};
use serde_json::Value;

/// One line of JSON: microseconds from connect to the first byte (median), bytes a second, short requests a second.
const CLIENT: &str = r"
import http.client, json, socket, statistics, time
HOST = '93.184.216.34'
try: socket.getaddrinfo('api.example.org', 80)
except OSError: pass
def first():
    start = time.perf_counter()
    s = socket.create_connection((HOST, 80)); s.sendall(b'GET / HTTP/1.0\r\nHost: h\r\n\r\n'); s.recv(1)
    spent = time.perf_counter() - start
    s.close()
    return spent
[first() for _ in range(20)]
p50 = statistics.median(first() for _ in range(300)) * 1e6
def bulk():
    s = socket.create_connection((HOST, 80)); s.sendall(b'GET /bytes/BULK HTTP/1.0\r\nHost: h\r\n\r\n')
    buffer, count, start = bytearray(1 << 20), 0, time.perf_counter()
    while n := s.recv_into(buffer): count += n
    return count / (time.perf_counter() - start)
rate = max(bulk() for _ in range(3))
def short():
    c = http.client.HTTPConnection(HOST); c.request('GET', '/'); c.getresponse().read(); c.close()
start = time.perf_counter()
for _ in range(1000): short()
print(json.dumps({'p50': p50, 'rate': rate, 'short': 1000 / (time.perf_counter() - start)}))";

#[test]
fn figures() {
    let client = CLIENT.replace("BULK", &(256u64 << 20).to_string());
    let policy = policy(|p| {
        p["egress"]["max_bytes"]["value"] = "64 GiB".into();
        p["limits"]["wall"]["value"] = "120 s".into();
        p["limits"]["cpu"]["value"] = "120 s".into();
    });
    let mut best = [f64::MAX, 0.0, 0.0];
    for turn in 0..3 {
        let outside: Value = serde_json::from_slice(&world().outside(&client).stdout).unwrap();
        let inside = run(&client, &policy).value();
        let ratio = |key: &str| inside[key].as_f64().unwrap() / outside[key].as_f64().unwrap();
        eprintln!("turn {turn}: outside {outside}, in the jail {inside}");
        best = [best[0].min(ratio("p50")), best[1].max(ratio("rate")), best[2].max(ratio("short"))];
    }
    eprintln!(
        "connect to first byte {:.2} times (at most 1.5), bulk {:.2} (at least 0.5), short requests {:.2} (at least 0.7)",
        best[0], best[1], best[2]
    );
    assert!(best[0] <= 1.5 && best[1] >= 0.5 && best[2] >= 0.7, "{best:?}");
}
