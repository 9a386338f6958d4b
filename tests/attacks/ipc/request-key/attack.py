from kit import *

with attempt("request_key"):
    reached("key", call("request_key", b"user", target("KEY").encode(), None, 0))
