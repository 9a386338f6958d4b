from kit import *

with attempt("sendto"):
    with socket.socket(type=socket.SOCK_DGRAM) as datagram:
        datagram.sendto(b"reached", ("127.0.0.1", int(target("UDP"))))
    absent("the call went well: somebody may have heard it, or nobody")
