from kit import *

with attempt("add_key"):
    reached("key", call("add_key", b"user", b"skilljail-attack", b"x", 1, -4))
