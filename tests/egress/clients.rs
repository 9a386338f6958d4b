//! Real clients, each as its users write it.

use super::support::live::READY;
use super::world::{entries, policy, run, run_of, skill, world};
use serde_json::json;
use std::time::{Duration, Instant};

/// Waits for what the servers write down after the run.
fn comes(what: &str) -> bool {
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        if world().canaries(what) > 0 {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn http_client_reaches_an_allowed_name() {
    let script = r"
import http.client, json
said = []
for kind, name in [(http.client.HTTPConnection, 'api.example.org'), (http.client.HTTPSConnection, 'api.example.org'), (http.client.HTTPConnection, 'alias.example.org'), (http.client.HTTPConnection, 'six.example.org'), (http.client.HTTPConnection, 'big.example.org'), (http.client.HTTPConnection, 'two.example.org')]:
    connection = kind(name, timeout=10)
    connection.request('GET', '/x')
    said.append(connection.getresponse().read().decode())
    connection.close()
print(json.dumps(said))";
    let ran = run(script, &policy(|_| {}));
    let said = ran.value();
    for (index, name) in ["api", "api", "alias", "six", "big", "two"].into_iter().enumerate() {
        assert_eq!(said[index], format!("hello {name}.example.org /x"));
    }
    // Each is written down with what it moved.
    let wanted = [
        ("what", json!("connection")),
        ("port", json!(443)),
        ("verdict", json!("allowed")),
        ("name", json!("api.example.org")),
    ];
    let [tls] = entries(&ran, &wanted)[..] else { panic!("{ran:?}") };
    assert!(tls["bytes_out"].as_u64().unwrap() > 200 && tls["bytes_in"].as_u64().unwrap() > 500, "{tls}");
    assert!(
        !entries(
            &ran,
            &[("what", json!("lookup")), ("name", json!("big.example.org")), ("verdict", json!("allowed"))]
        )
        .is_empty()
    );
    assert!(
        !entries(&ran, &[("address", json!("2606:2800:220:1::34")), ("verdict", json!("allowed"))])
            .is_empty()
    );
    // The first address of two.example.org is nobody's: the next one was dialled.
    let fallen = entries(&ran, &[("what", json!("connection")), ("name", json!("two.example.org"))]);
    assert!(fallen.iter().all(|entry| entry["address"] == "93.184.216.34"), "{fallen:?}");
}

#[test]
fn urllib_and_asyncio() {
    let script = r"
import asyncio, json, ssl, urllib.request
said = [urllib.request.urlopen(url, timeout=10).read().decode() for url in ['http://api.example.org/u', 'https://second.example.org/u']]
async def ask(tls):
    reader, writer = await asyncio.open_connection('api.example.org', 443 if tls else 80, ssl=ssl.create_default_context() if tls else None)
    writer.writelines([b'GET /a HTTP/1.1\r\n', b'Host: api.example.org\r\nConnection: close\r\n\r\n'])
    await writer.drain()
    text = await reader.read()
    writer.close()
    return text.split(b'\r\n\r\n')[1].decode()
async def both():
    return list(await asyncio.gather(ask(False), ask(True)))
print(json.dumps(said + asyncio.run(both())))";
    let said = run(script, &policy(|_| {})).value();
    let expected =
        ["api.example.org /u", "second.example.org /u", "api.example.org /a", "api.example.org /a"];
    assert_eq!(said, json!(expected.map(|text| format!("hello {text}"))));
}

#[test]
fn sockets_in_each_mode() {
    let script = r"
import json, select, socket
REQUEST = b'GET / HTTP/1.0\r\nHost: m\r\n\r\n'
address = socket.getaddrinfo('api.example.org', 80, socket.AF_INET, socket.SOCK_STREAM)[0][4]
def rest(s):
    text = b''
    while part := s.recv(4096): text += part
    return text.endswith(b'hello m /')
said = {}
s = socket.socket(); s.connect(address); s.sendall(REQUEST); said['blocking'] = rest(s)
said['peer'] = s.getpeername()[0]
s = socket.socket(); s.settimeout(5); s.connect(address); s.sendall(REQUEST); said['timeout'] = rest(s)
s = socket.socket(); s.setblocking(False)
poll = select.epoll(); poll.register(s, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
said['connecting'] = s.connect_ex(address)
sent, text = False, b''
while True:
    events = poll.poll(5)
    assert events, 'no event'
    if not sent and events[0][1] & select.EPOLLOUT:
        assert s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
        s.send(REQUEST); sent = True
    # Edge-triggered: everything that is there has to be read before the next wait.
    ended = False
    while True:
        try: part = s.recv(4096)
        except BlockingIOError: break
        text += part
        if not part: ended = True; break
    if ended: break
said['epoll'] = text.endswith(b'hello m /')
first = socket.create_connection(('api.example.org', 8084)).makefile('rwb', 0)
said['first'] = first.readline().decode()
first.write(b'line\n'); said['line'] = first.readline().decode()
print(json.dumps(said))";
    let said = run(script, &policy(|_| {})).value();
    assert_eq!(said["connecting"].as_i64().map(|e| e == 0 || e == 115), Some(true), "{said}");
    for (key, value) in [
        ("blocking", json!(true)),
        ("timeout", json!(true)),
        ("epoll", json!(true)),
        ("peer", json!("93.184.216.34")),
        ("first", json!("220 ready\r\n")),
        ("line", json!("line\n")),
    ] {
        assert_eq!(said[key], value, "{said}");
    }
}

#[test]
fn two_hundred_at_once() {
    let script = r"
import asyncio
async def ask(n):
    reader, writer = await asyncio.open_connection('93.184.216.34', 80)
    writer.write(b'GET /%d HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n' % n)
    text = await reader.read()
    writer.close()
    return text.endswith(b'hello p /%d' % n)
async def all_of_them():
    await asyncio.get_running_loop().getaddrinfo('api.example.org', 80)
    return await asyncio.gather(*(ask(n) for n in range(200)))
print(sum(asyncio.run(all_of_them())))";
    let ran = run(script, &policy(|p| p["egress"]["max_connections"]["value"] = 256.into()));
    assert_eq!(ran.value(), json!(200), "{ran:?}");
    assert_eq!(entries(&ran, &[("what", json!("connection")), ("verdict", json!("allowed"))]).len(), 200);
}

/// Both ways, with equal hashes; the first half-closes, the other reads slowly.
#[test]
fn large_and_slow() {
    let script = r"
import hashlib, json, os, socket, time
block, digest = os.urandom(1 << 20), hashlib.sha256()
s = socket.create_connection(('api.example.org', 8080))
for _ in range(SIZE):
    s.sendall(block); digest.update(block)
s.shutdown(socket.SHUT_WR)
up = s.makefile().read()
s = socket.create_connection(('api.example.org', 8083))
got, seen, tail, pauses = hashlib.sha256(), 0, b'', 0
while part := s.recv(1 << 20):
    tail += part
    if len(tail) > 32: got.update(tail[:-32]); seen += len(tail) - 32; tail = tail[-32:]
    if pauses < 20: time.sleep(0.02); pauses += 1
print(json.dumps([up == f'{SIZE << 20} {digest.hexdigest()}', seen, tail == got.digest()]))";
    let ran =
        run(&script.replace("SIZE", "48"), &policy(|p| p["egress"]["max_bytes"]["value"] = "1 GiB".into()));
    assert_eq!(ran.value(), json!([true, 64 << 20, true]), "{ran:?}");
    let [up] = entries(&ran, &[("port", json!(8080))])[..] else { panic!("{ran:?}") };
    assert_eq!((&up["bytes_out"], &up["verdict"]), (&json!(48 << 20), &json!("allowed")));
}

#[test]
fn resets_and_silence_are_passed_on_and_bounded() {
    let script = r"
import json, socket, struct, time
said = {}
def error(of):
    try: of(); return 'none'
    except OSError as e: return type(e).__name__
s = socket.create_connection(('api.example.org', 8082)); s.sendall(b'xx')
said['reset'] = error(lambda: s.recv(1))
s = socket.create_connection(('api.example.org', 8081)); s.settimeout(0.3)
said['own'] = error(lambda: s.recv(1))
s.settimeout(None); start = time.monotonic()
said['idle'] = error(lambda: s.recv(1)); said['bounded'] = time.monotonic() - start < 20
s = socket.create_connection(('api.example.org', 8086)); s.recv(1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0)); s.close()
print(json.dumps(said))";
    let ran = run(script, &policy(|p| p["egress"]["idle_timeout"]["value"] = "1 s".into()));
    assert_eq!(
        ran.value(),
        json!({"reset": "ConnectionResetError", "own": "TimeoutError", "idle": "ConnectionResetError", "bounded": true}),
        "{ran:?}"
    );
    assert!(comes("held: reset"));
    assert_eq!(entries(&ran, &[("port", json!(8081)), ("verdict", json!("failed"))]).len(), 1, "{ran:?}");
}

#[test]
fn what_was_sent_before_the_end_arrives() {
    let script = r"
import os, socket
s = socket.create_connection(('api.example.org', 8085))
s.sendall(b'x' * 3_000_017)
os._exit(0)";
    assert_eq!(run(script, &policy(|_| {})).status(), "ok");
    assert!(comes("sink 3000017"));
}

#[test]
fn a_killed_supervisor_leaves_no_connection() {
    let script = format!(
        "{READY}\nimport socket\ns = socket.create_connection(('api.example.org', 8086))\ns.recv(1)\nready()"
    );
    let (skill, policy) = (skill(&script), policy(|_| {}));
    let live = run_of(&skill, &policy).start();
    live.ready();
    let before = world().canaries("held: ");
    live.signal(nix::sys::signal::Signal::SIGKILL);
    live.wait_only();
    let end = Instant::now() + Duration::from_secs(10);
    while world().canaries("held: ") == before {
        assert!(Instant::now() < end, "the far end still holds a connection of a jail that is gone");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_killed_script_ends_its_connections() {
    let script = r"
import os, signal, socket
s = socket.create_connection(('api.example.org', 8087)); s.recv(1)
os.kill(os.getpid(), signal.SIGKILL)";
    let ran = run(script, &policy(|_| {}));
    assert_eq!((ran.status(), ran.report["signal"].as_i64()), ("signaled", Some(9)), "{ran:?}");
    assert!(comes("other held: "));
}

/// As `large_and_slow`, a gibibyte each way.
#[test]
#[cfg(feature = "bench")]
fn a_gibibyte_each_way() {
    let script = r"
import hashlib, json, os, socket
block, digest = os.urandom(1 << 20), hashlib.sha256()
s = socket.create_connection(('api.example.org', 8080))
for _ in range(1024):
    s.sendall(block); digest.update(block)
s.shutdown(socket.SHUT_WR)
up = s.makefile().read() == f'{1 << 30} {digest.hexdigest()}'
s = socket.create_connection(('api.example.org', 80))
s.sendall(b'GET /bytes/1073741824 HTTP/1.0\r\nHost: h\r\n\r\n')
text = s.makefile('rb', 1 << 20)
while text.readline().strip(): pass
got, wanted, pattern, count = hashlib.sha256(), hashlib.sha256(), bytes(range(256)) * 4096, 0
while part := text.read(1 << 20): got.update(part); count += len(part)
for _ in range(1024): wanted.update(pattern)
print(json.dumps([up, count, got.digest() == wanted.digest()]))";
    let ran = run(
        script,
        &policy(|p| {
            p["egress"]["max_bytes"]["value"] = "4 GiB".into();
            p["limits"]["wall"]["value"] = "110 s".into();
            p["limits"]["cpu"]["value"] = "110 s".into();
        }),
    );
    assert_eq!(ran.value(), json!([true, 1u64 << 30, true]), "{ran:?}");
}

/// The libraries that people use, from the index that pip has.
#[test]
#[cfg(feature = "registry")]
fn requests_httpx_and_aiohttp() {
    let script = r"
import asyncio, json, requests, httpx, aiohttp, ssl
url, said = 'https://api.example.org/l', []
session = requests.Session(); session.trust_env = True
said.append(session.get(url, timeout=10).text)
said.append(requests.get('http://api.example.org/l', timeout=10).text)
said.append(httpx.get(url, verify=ssl.create_default_context()).text)
async def both():
    async with httpx.AsyncClient(verify=ssl.create_default_context()) as client:
        said.append((await client.get(url)).text)
    async with aiohttp.ClientSession() as client:
        async with client.get(url) as answer: said.append(await answer.text())
asyncio.run(both())
print(json.dumps(said))";
    let runtime = super::support::runtime_of_file("clients", "tests/egress/clients.txt");
    let skill = skill(script);
    let policy = policy(|_| {});
    let ran = super::support::Run::with_runtime(&runtime, &skill.path(), "main.py")
        .args(["--policy", policy.path().to_str().unwrap()])
        .inside(&world().inside())
        .go();
    assert_eq!(ran.value(), json!(vec!["hello api.example.org /l"; 5]), "{ran:?}");
}
