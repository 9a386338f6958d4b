from kit import *

with attempt("sendto with MSG_FASTOPEN"):
    with socket.socket() as stream:
        stream.sendto(b"reached", socket.MSG_FASTOPEN, ("127.0.0.1", int(target("PORT"))))
        stream.shutdown(socket.SHUT_WR)
        stream.settimeout(1)
        stream.recv(1)
    absent("the call went well: somebody may have heard it, or nobody")
