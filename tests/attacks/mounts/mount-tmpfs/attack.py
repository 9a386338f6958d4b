from kit import *

os.mkdir("/workdir/m")
with attempt("mount"):
    call("mount", b"x", b"/workdir/m", b"tmpfs", 0, None)
    reached("a tmpfs", os.path.ismount("/workdir/m"))
