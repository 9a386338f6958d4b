from kit import *

os.mkdir("/workdir/p")
with attempt("mount proc"):
    call("mount", b"proc", b"/workdir/p", b"proc", 0, None)
    reached(len(os.listdir("/workdir/p")))
