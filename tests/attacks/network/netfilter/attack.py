from kit import *

with attempt("NETLINK_NETFILTER"):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12):
        reached("a socket of netfilter")
