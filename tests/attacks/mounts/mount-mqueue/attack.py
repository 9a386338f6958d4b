from kit import *

os.mkdir("/workdir/q")
with attempt("mount mqueue"):
    call("mount", b"x", b"/workdir/q", b"mqueue", 0, None)
    reached(os.path.ismount("/workdir/q"))
