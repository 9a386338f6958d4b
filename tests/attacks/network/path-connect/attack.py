from kit import *

with attempt("connect"):
    with socket.socket(socket.AF_UNIX) as stream:
        stream.connect(outside("socket"))
        stream.sendall(b"reached")
