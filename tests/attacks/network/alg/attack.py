from kit import *

with attempt("AF_ALG"):
    with socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET):
        reached("a socket of the crypto API")
