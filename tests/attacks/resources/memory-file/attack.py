from kit import *

with attempt("memfd_create"):
    descriptor = call("memfd_create", b"x", 0)
    os.write(descriptor, b"x" * (1 << 20))
    reached("a megabyte outside of every limit")
