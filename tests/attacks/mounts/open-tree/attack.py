from kit import *

with attempt("open_tree"):
    reached("a detached tree", call("open_tree", -100, b"/usr", 1 | 0x8000))
