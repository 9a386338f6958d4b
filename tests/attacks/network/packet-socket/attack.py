from kit import *

with attempt("AF_PACKET"):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)):
        reached("a packet socket")
