from kit import *

with attempt("umount2"):
    call("umount2", b"/tmp", 2)
    reached("/tmp was unmounted")
