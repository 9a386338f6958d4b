from kit import *

with attempt("shmget"):
    segment = call("shmget", 0, 1 << 20, 0o1600)
    call("shmctl", segment, 0, None)
    reached("a megabyte outside of every limit")
