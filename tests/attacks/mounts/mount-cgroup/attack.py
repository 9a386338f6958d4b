from kit import *

os.mkdir("/workdir/c")
with attempt("mount cgroup2"):
    call("mount", b"x", b"/workdir/c", b"cgroup2", 0, None)
    reached(os.listdir("/workdir/c")[:3])
