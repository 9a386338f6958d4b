from kit import *

with attempt("PR_SET_CHILD_SUBREAPER"):
    call("prctl", 36, 1, 0, 0, 0)
    reached("a reaper")
