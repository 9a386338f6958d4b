from kit import *

with attempt("fspick"):
    reached("a context", call("fspick", -100, b"/workdir", 0))
