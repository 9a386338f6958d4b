from kit import *

with attempt("AF_VSOCK"):
    with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM):
        reached("a vsock socket")
