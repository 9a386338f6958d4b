from kit import *

with attempt("connect"):
    with socket.socket(socket.AF_UNIX) as stream:
        stream.connect("\0" + target("ABSTRACT"))
        stream.sendall(b"reached")
