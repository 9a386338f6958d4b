from kit import *

with attempt("SOCK_RAW"):
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP):
        reached("a raw socket")
