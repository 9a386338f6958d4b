"""The servers of the tests' world. `internet` serves public names and addresses, `host` is the host that must not be reached.

Every connection or datagram that comes where none must come is a line in the file of canaries.
"""
import http.server
import hashlib
import os
import socket
import socketserver
import ssl
import struct
import sys
import threading
import time
from urllib.parse import parse_qs, urlsplit

HERE = os.path.dirname(os.path.abspath(__file__))
PUBLIC, OTHER, V6 = "93.184.216.34", "93.184.216.35", "2606:2800:220:1::34"
A = {
    "api.example.org": [PUBLIC],
    "other.example.org": [PUBLIC],
    "second.example.org": [OTHER],
    "private.example.org": ["10.9.9.9"],
    "meta.example.org": ["169.254.169.254"],
    "loop.example.org": ["127.0.0.1"],
    "zero.example.org": ["0.0.0.0"],
    "host.example.org": ["93.184.216.100"],
    "mixed.example.org": ["10.9.9.9", PUBLIC],
    "two.example.org": ["93.184.216.99", PUBLIC],
    "big.example.org": [PUBLIC] * 60,
    "target.example.net": [PUBLIC],
}
AAAA = {
    "api.example.org": [V6],
    "six.example.org": [V6],
    "mapped.example.org": ["::ffff:10.9.9.9"],
    "nat64.example.org": ["64:ff9b::a09:909"],
    "sixtofour.example.org": ["2002:a09:909::1"],
    "linklocal.example.org": ["fe80::1"],
}
CNAME = {
    "alias.example.org": "target.example.net",
    "inside.example.org": "private.example.org",
    "metadata.example.org": "metadata.google.internal",
    "ring.example.org": "ring.example.org",
}
FLIP = {"n": 0}


def canary(what):
    with open(os.environ["CANARIES"], "a") as file:
        file.write(what + "\n")


def name(question):
    labels, at = [], 12
    while question[at]:
        labels.append(question[at + 1 : at + 1 + question[at]].decode())
        at += question[at] + 1
    return ".".join(labels).lower(), struct.unpack(">H", question[at + 1 : at + 3])[0], at + 5


def wire(text):
    return b"".join(bytes([len(part)]) + part.encode() for part in text.split(".")) + b"\0"


def answer(question, most):
    asked, kind, end = name(question)
    records, owner, ttl = [], asked, 30
    if asked == "silent.example.org":
        return None
    while owner in CNAME and len(records) < 12:
        records.append(wire(owner) + struct.pack(">HHIH", 5, 1, ttl, len(wire(CNAME[owner]))) + wire(CNAME[owner]))
        owner = CNAME[owner]
    addresses = A.get(owner, []) if kind == 1 else AAAA.get(owner, []) if kind == 28 else []
    if owner == "rebind.example.org" and kind == 1:
        addresses, ttl = [[PUBLIC], ["10.9.9.9"]][FLIP["n"] % 2], 0
        FLIP["n"] += 1
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        packed = socket.inet_pton(family, address)
        records.append(wire(owner) + struct.pack(">HHIH", kind, 1, ttl, len(packed)) + packed)
    # A name of this kind is there, and has no address.
    known = asked in A or asked in AAAA or asked in CNAME or asked in ("rebind.example.org", "empty.example.org")
    code = 0 if known else 3
    message = question[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(records), 0, 0) + question[12:end]
    whole = message + b"".join(records)
    if len(whole) <= most:
        return whole
    return question[:2] + struct.pack(">HHHHH", 0x8380, 1, 0, 0, 0) + question[12:end]


def dns_udp(sock):
    while True:
        question, client = sock.recvfrom(4096)
        reply = answer(question, 512)
        if reply:
            sock.sendto(reply, client)


def dns_tcp(conn):
    length = struct.unpack(">H", conn.recv(2, socket.MSG_WAITALL))[0]
    reply = answer(conn.recv(length, socket.MSG_WAITALL), 65535)
    conn.sendall(struct.pack(">H", len(reply)) + reply)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def reply(self, body, code=200, **headers):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path == "/redirect":
            self.reply(b"", 302, Location=parse_qs(url.query)["to"][0])
        elif url.path.startswith("/bytes/"):
            left = int(url.path[7:])
            self.send_response(200)
            self.send_header("Content-Length", str(left))
            self.end_headers()
            block = bytes(range(256)) * 1024
            while left > 0:
                self.wfile.write(block[:left])
                left -= len(block)
        elif url.path == "/page":
            self.reply("<html><head><title>A page</title><script>no()</script></head><body><p>Héllo &amp; more</p></body></html>".encode(),
                       **{"Content-Type": "text/html; charset=utf-8"})
        else:
            self.reply(("hello " + self.headers.get("Host", "") + " " + self.path).encode(), **{"Content-Type": "text/plain"})

    def do_POST(self):
        left, digest = int(self.headers["Content-Length"]), hashlib.sha256()
        while left > 0:
            part = self.rfile.read(min(left, 1 << 20))
            digest.update(part)
            left -= len(part)
        self.reply(digest.hexdigest().encode())

    def log_message(self, *args):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def server_bind(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        socketserver.TCPServer.server_bind(self)
        self.server_name = self.server_port = ""

    def handle_error(self, *args):
        pass


class Six(Server):
    address_family = socket.AF_INET6


def echo(conn):
    """Reads to the end, and only then answers: what half-close is for."""
    digest, count = hashlib.sha256(), 0
    while part := conn.recv(1 << 20):
        digest.update(part)
        count += len(part)
    conn.sendall(f"{count} {digest.hexdigest()}".encode())


def never(conn):
    while conn.recv(1 << 16):
        pass
    time.sleep(3600)


def reset(conn):
    conn.recv(1)
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def first(conn):
    """Speaks first, as mail servers do, and a line for a line after that."""
    conn.sendall(b"220 ready\r\n")
    while line := conn.recv(4096):
        conn.sendall(line)


def flood(conn):
    """More than any buffer holds, for readers that are slow."""
    digest = hashlib.sha256()
    block = os.urandom(1 << 16)
    for _ in range(1024):
        conn.sendall(block)
        digest.update(block)
    conn.sendall(digest.digest())


def sink(conn):
    """Counts, and says so only here."""
    count = 0
    try:
        while part := conn.recv(1 << 20):
            count += len(part)
    except ConnectionResetError:
        pass
    canary(f"sink {count}")


def held(conn):
    """Says when the other side is gone, and how."""
    conn.sendall(b"x")
    try:
        while conn.recv(1 << 16):
            pass
        canary("held: end")
    except ConnectionResetError:
        canary("held: reset")


def held_too(conn):
    conn.sendall(b"x")
    try:
        conn.recv(1)
    finally:
        canary("other held: over")


def caught(what):
    def handler(conn):
        canary(what)
        try:
            conn.sendall(b"HTTP/1.0 200 OK\r\n\r\nCANARY")
        except OSError:
            pass

    return handler


def listen(address, port, handler):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((address, port))
    sock.listen(1024)

    def serve(conn):
        with conn:
            try:
                handler(conn)
            except OSError:
                pass

    def loop():
        while True:
            conn, _ = sock.accept()
            threading.Thread(target=serve, args=(conn,), daemon=True).start()

    threading.Thread(target=loop, daemon=True).start()


def datagrams(address, port, handler):
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((address, port))
    threading.Thread(target=handler, args=(sock,), daemon=True).start()


def caught_datagrams(what):
    def loop(sock):
        while True:
            sock.recv(4096)
            canary(what)

    return loop


def serve(server):
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main():
    if sys.argv[1] == "internet":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(HERE, "tls/server.pem"))
        datagrams("9.9.9.9", 53, dns_udp)
        listen("9.9.9.9", 53, dns_tcp)
        for address, kind in [(PUBLIC, Server), (OTHER, Server), (V6, Six)]:
            serve(kind((address, 80), Handler))
            tls = kind((address, 443), Handler)
            tls.socket = context.wrap_socket(tls.socket, server_side=True, do_handshake_on_connect=False)
            serve(tls)
        for port, handler in [(8080, echo), (8081, never), (8082, reset), (8083, flood), (8084, first), (8085, sink), (8086, held), (8087, held_too)]:
            listen(PUBLIC, port, handler)
            listen(V6, port, handler)
        for address in ["10.9.9.9", "169.254.169.254"]:
            for port in [80, 443, 8080]:
                listen(address, port, caught(f"{address}:{port}"))
        # Not listed in any policy of the tests.
        listen(PUBLIC, 22, caught("port 22"))
        datagrams(PUBLIC, 443, caught_datagrams("udp 443"))
        datagrams(PUBLIC, 53, caught_datagrams("udp 53"))
    else:
        for address in ["127.0.0.1", "100.127.0.1", "93.184.216.100", "::1"]:
            for port in [80, 443, 8080]:
                listen(address, port, caught(f"host {address}:{port}"))
    print("ready", flush=True)
    # Until whoever started this is gone.
    sys.stdin.read()


main()
