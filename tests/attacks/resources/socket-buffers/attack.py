from kit import *

ours, theirs = socket.socketpair()
with attempt("SO_SNDBUF"):
    before = ours.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    after = ours.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    if after != before:
        reached(before, after)
