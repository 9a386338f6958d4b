from kit import *

os.mkdir("/workdir/m")
with attempt("open_tree and move_mount"):
    tree = call("open_tree", -100, b"/usr", 1 | 0x8000)
    call("move_mount", tree, b"", -100, b"/workdir/m", 4)
    reached(os.path.ismount("/workdir/m"))
