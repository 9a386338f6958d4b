from kit import *

os.mkdir("/workdir/m")
with attempt("pivot_root"):
    call("mount", b"x", b"/workdir/m", b"tmpfs", 0, None)
    os.mkdir("/workdir/m/old")
    call("pivot_root", b"/workdir/m", b"/workdir/m/old")
    reached(os.listdir("/"))
