from kit import *

with attempt("remount"):
    call("mount", None, b"/", None, 0x20 | 0x1000, None)
    reached("the root was remounted")
