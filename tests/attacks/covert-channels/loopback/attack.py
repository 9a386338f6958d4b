from kit import *

sending = target("ROLE") == "sender"
end = time.monotonic() + 1.6

with attempt("a port"):
    with socket.socket(type=socket.SOCK_DGRAM) as port:
        if sending:
            while time.monotonic() < end:
                port.sendto(b"word", ("127.0.0.1", 9479))
                time.sleep(0.02)
        else:
            port.bind(("127.0.0.1", 9479))
            port.settimeout(1.5)
            reached(port.recv(16))
