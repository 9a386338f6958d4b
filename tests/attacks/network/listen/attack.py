from kit import *

with attempt("bind and listen"):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        reached("listens on", server.getsockname())
