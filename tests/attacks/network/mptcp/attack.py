from kit import *

with attempt("MPTCP"):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as stream:
        stream.connect(("127.0.0.1", int(target("PORT"))))
        stream.sendall(b"reached")
    absent("the call went well: somebody may have heard it, or nobody")
