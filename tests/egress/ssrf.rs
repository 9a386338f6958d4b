//! The questions that every fetcher of URLs is asked. Each has its control: the same outside of the jail reaches the canary.

use super::world::{alone, entries, policy, run, world};
use serde_json::{Value, json};

/// Tries each target in the jail and outside; nothing in the jail may reach a canary, and the control must.
fn tried(targets: &[(&str, u16)], control: (&str, &str)) -> (super::support::Ran, Vec<Value>) {
    let script = format!(
        r"
import json, socket
said = []
for host, port in {}:
    try:
        s = socket.create_connection((host, port), timeout=5)
        s.sendall(b'GET / HTTP/1.0\r\n\r\n')
        said.append(repr(s.recv(100)))
    except OSError as e:
        said.append(type(e).__name__)
print(json.dumps(said))",
        python(targets)
    );
    let before = world().canaries(control.1);
    let ran = run(&script, &policy(|_| {}));
    let said = ran.value().as_array().unwrap().clone();
    assert_eq!(world().canaries(control.1), before, "a canary was reached: {ran:?}");
    let outside = world().outside(&format!(
        "import socket; print(socket.create_connection(('{}', 80), 5).recv(99))",
        control.0
    ));
    assert!(String::from_utf8_lossy(&outside.stdout).contains("CANARY"), "the control: {outside:?}");
    assert!(world().canaries(control.1) > before, "the control");
    (ran, said)
}

fn python(targets: &[(&str, u16)]) -> String {
    let list: Vec<String> = targets.iter().map(|(host, port)| format!("('{host}', {port})")).collect();
    format!("[{}]", list.join(", "))
}

fn refused(said: &[Value]) {
    for text in said {
        assert!(
            ["ConnectionResetError", "ConnectionRefusedError", "gaierror", "OSError"]
                .contains(&text.as_str().unwrap()),
            "{said:?}"
        );
    }
}

#[test]
fn the_seven_questions() {
    let _alone = alone();
    // 1: a literal private address; the metadata service; the host by each of its addresses.
    let targets = [
        ("10.9.9.9", 80),
        ("169.254.169.254", 80),
        ("127.0.0.1", 80),
        ("100.127.0.1", 80),
        ("93.184.216.100", 80),
        ("::1", 80),
    ];
    let (ran, said) = tried(&targets, ("10.9.9.9", "10.9.9.9"));
    refused(&said);
    for (address, _) in targets {
        let wanted =
            [("what", json!("connection")), ("address", json!(address)), ("verdict", json!("refused"))];
        assert_eq!(entries(&ran, &wanted).len(), 1, "{address}: {ran:?}");
    }
    // 2: names that have such an address.
    let names = [
        "private",
        "meta",
        "loop",
        "zero",
        "host",
        "inside",
        "metadata",
        "mapped",
        "nat64",
        "sixtofour",
        "linklocal",
    ];
    let hosts: Vec<String> = names.iter().map(|name| format!("{name}.example.org")).collect();
    let targets: Vec<(&str, u16)> = hosts.iter().map(|host| (host.as_str(), 80)).collect();
    let (ran, said) = tried(&targets, ("169.254.169.254", "169.254.169.254"));
    refused(&said);
    for host in &hosts {
        let wanted = [("what", json!("lookup")), ("name", json!(host)), ("verdict", json!("refused"))];
        assert!(!entries(&ran, &wanted).is_empty(), "{host}: {ran:?}");
    }
}

/// 3: the resolver answers with a public address first and a private one then.
#[test]
fn a_name_that_rebinds_is_reached_where_it_was_checked() {
    let _alone = alone();
    let script = r"
import json, socket
said = []
for _ in range(4):
    try:
        s = socket.create_connection(('rebind.example.org', 80), timeout=5)
        s.sendall(b'GET / HTTP/1.0\r\nHost: r\r\n\r\n')
        text = b''
        while part := s.recv(4096): text += part
        said.append([s.getpeername()[0], text.endswith(b'hello r /')])
    except OSError as e:
        said.append(type(e).__name__)
try: said.append(socket.create_connection(('10.9.9.9', 80), timeout=5).recv(9).decode())
except OSError as e: said.append(type(e).__name__)
print(json.dumps(said))";
    let before = world().canaries("10.9.9.9");
    let ran = run(script, &policy(|_| {}));
    let said = ran.value();
    let said = said.as_array().unwrap();
    assert!(said.contains(&json!(["93.184.216.34", true])) && said.contains(&json!("gaierror")), "{said:?}");
    assert_eq!(said.last(), Some(&json!("ConnectionResetError")));
    assert_eq!(world().canaries("10.9.9.9"), before);
    let wanted = [("name", json!("rebind.example.org")), ("verdict", json!("refused"))];
    assert!(!entries(&ran, &wanted).is_empty(), "{ran:?}");
}

/// 4: a redirect to one, followed by a client that does not look.
#[test]
fn a_redirect_leads_to_the_same_wall() {
    let _alone = alone();
    let script = r"
import json, urllib.request
said = []
for to in ['http://10.9.9.9/', 'http://private.example.org/', 'http://api.example.org/there']:
    try: said.append(urllib.request.urlopen('http://api.example.org/redirect?to=' + to, timeout=5).read().decode())
    except OSError as e: said.append(type(e).__name__)
print(json.dumps(said))";
    let before = world().canaries("10.9.9.9");
    let ran = run(script, &policy(|_| {}));
    let said = ran.value();
    assert_eq!(said[2], "hello api.example.org /there", "{said}");
    assert!(!said[0].as_str().unwrap().contains("CANARY") && !said[1].as_str().unwrap().contains("CANARY"));
    assert_eq!(world().canaries("10.9.9.9"), before);
    assert!(!entries(&ran, &[("address", json!("10.9.9.9")), ("verdict", json!("refused"))]).is_empty());
}

/// 5 and 6: the same address in other words.
#[test]
fn no_way_to_write_an_address_leads_inside() {
    let _alone = alone();
    let targets = [
        ("::ffff:10.9.9.9", 80),
        ("::ffff:a09:909", 80),
        ("::10.9.9.9", 80),
        ("0x0a.9.9.9", 80),
        ("0x0a090909", 80),
        ("012.011.011.011", 80),
        ("168364297", 80),
        ("10.9.2313", 80),
        ("64:ff9b::a09:909", 80),
        ("64:ff9b:1::a09:909", 80),
        ("2002:a09:909::1", 80),
        ("2001:0:a09:909::1", 80),
        ("fe80::1", 80),
        ("fd00:7::1", 80),
        ("ff02::1", 80),
        ("::", 80),
        ("0.0.0.0", 80),
        ("255.255.255.255", 80),
        ("0", 80),
        ("127.1", 80),
    ];
    let (ran, said) = tried(&targets, ("10.9.9.9", "10.9.9.9"));
    refused(&said);
    // What the C library took for 10.9.9.9 arrived as that.
    let [same] = entries(&ran, &[("address", json!("10.9.9.9")), ("verdict", json!("refused"))])[..] else {
        panic!("{ran:?}")
    };
    assert!(same["count"].as_u64().unwrap() >= 5, "{same}");
    for address in ["64:ff9b::a09:909", "2002:a09:909::1", "fd00:7::1"] {
        assert_eq!(
            entries(&ran, &[("address", json!(address)), ("verdict", json!("refused"))]).len(),
            1,
            "{address}: {ran:?}"
        );
    }
}

/// 7: other ports, and everything that is not TCP.
#[test]
fn other_ports_and_protocols_reach_nothing() {
    let _alone = alone();
    let script = r"
import json, socket
said = {}
def attempt(name, f):
    try: said[name] = repr(f())
    except OSError as e: said[name] = type(e).__name__
socket.getaddrinfo('api.example.org', 80)
PUBLIC = '93.184.216.34'
attempt('port', lambda: socket.create_connection((PUBLIC, 22), 5))
attempt('port6', lambda: socket.create_connection(('2606:2800:220:1::34', 22), 5))
def udp(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.5)
    s.sendto(b'x', (PUBLIC, port)); return s.recv(9)
attempt('udp', lambda: udp(443))
attempt('dns', lambda: udp(53))
attempt('icmp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1))
attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt('vsock', lambda: socket.socket(40, socket.SOCK_STREAM))
attempt('unix', lambda: socket.socket(socket.AF_UNIX))
attempt('netlink', lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
attempt('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt('sctp', lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132))
attempt('mptcp', lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262))
attempt('fastopen', lambda: socket.socket().sendto(b'x', 0x20000000, (PUBLIC, 80)))
attempt('fastopen2', lambda: socket.socket().setsockopt(6, 30, 1))
attempt('bind', lambda: socket.socket().bind(('0.0.0.0', 8000)))
attempt('listen', lambda: socket.socket().listen())
attempt('device', lambda: socket.socket().setsockopt(1, 25, b'lo'))
attempt('interfaces', lambda: socket.if_nameindex())
attempt('ioctl', lambda: __import__('fcntl').ioctl(socket.socket(), 0x8912, b'\0' * 40))
attempt('proc', lambda: open('/proc/net/tcp'))
print(json.dumps(said))";
    let canaries = ["port 22", "udp 443", "udp 53"];
    let before = canaries.map(|what| world().canaries(what));
    let ran = run(script, &policy(|_| {}));
    let said = ran.value();
    let errors =
        ["ConnectionRefusedError", "TimeoutError", "PermissionError", "OSError", "FileNotFoundError"];
    for (name, text) in said.as_object().unwrap() {
        assert!(errors.contains(&text.as_str().unwrap()), "{name}: {said}");
    }
    assert_eq!(canaries.map(|what| world().canaries(what)), before, "{ran:?}");
    for (protocol, port) in [("tcp", 22), ("udp", 443), ("udp", 53)] {
        let wanted = [("what", json!("attempt")), ("protocol", json!(protocol)), ("port", json!(port))];
        assert!(!entries(&ran, &wanted).is_empty(), "{protocol} {port}: {ran:?}");
    }
    // What the filter refuses is in the denials.
    let denials = ran.report["denials"].to_string();
    for words in [
        "SOCK_RAW",
        "AF_VSOCK",
        "AF_UNIX",
        "AF_PACKET",
        "protocol=262",
        "protocol=132",
        "sendto(",
        "bind(",
        "listen(",
    ] {
        assert!(denials.contains(words), "{words}: {denials}");
    }
    // The controls.
    let outside = world().outside(
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); [s.sendto(b'x', ('93.184.216.34', p)) for p in (443, 53)]; print(socket.create_connection(('93.184.216.34', 22), 5).recv(99))",
    );
    assert!(String::from_utf8_lossy(&outside.stdout).contains("CANARY"), "{outside:?}");
    for (what, before) in canaries.into_iter().zip(before) {
        assert!(
            (0..200).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(10));
                world().canaries(what) > before
            }),
            "the control of {what}"
        );
    }
}
