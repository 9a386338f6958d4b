from kit import *

sending = target("ROLE") == "sender"
end = time.monotonic() + 1.6

with attempt("bind"):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    if sending:
        while time.monotonic() < end:
            try:
                theirs.sendto(b"word", "\0skilljail-attack-pair")
            except ConnectionRefusedError:
                pass
            time.sleep(0.02)
    else:
        other = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        other.bind("\0skilljail-attack-pair")
        other.settimeout(1.5)
        try:
            reached(other.recv(16))
        except TimeoutError:
            absent("nothing came")
