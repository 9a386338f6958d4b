from kit import *

with attempt("shmctl"):
    segment = call("shmget", int(target("SEGMENT") or 0), 0, 0)
    call("shmctl", segment, 0, None)
    reached("removed", segment)
