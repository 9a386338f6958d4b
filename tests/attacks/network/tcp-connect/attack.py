from kit import *

with attempt("connect"):
    with socket.socket() as stream:
        stream.settimeout(2)
        stream.connect(("127.0.0.1", int(target("PORT"))))
        stream.sendall(b"reached")
    absent("the call went well: somebody may have heard it, or nobody")
