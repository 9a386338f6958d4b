from kit import *

os.mkdir("/workdir/o")
with attempt("mount overlay"):
    call("mount", b"x", b"/workdir/o", b"tmpfs", 0, None)
    for name in "lower", "upper", "work", "all":
        os.mkdir("/workdir/o/" + name)
    options = b"lowerdir=/workdir/o/lower,upperdir=/workdir/o/upper,workdir=/workdir/o/work"
    call("mount", b"x", b"/workdir/o/all", b"overlay", 0, options)
    reached("an overlay")
