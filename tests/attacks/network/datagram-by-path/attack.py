from kit import *

with attempt("sendto by one end of a pair"):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.sendto(b"reached", outside("datagrams"))
