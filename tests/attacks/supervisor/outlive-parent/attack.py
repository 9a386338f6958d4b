from kit import *

with attempt("PR_SET_PDEATHSIG"):
    call("prctl", 1, 0, 0, 0, 0)
    reached("no signal will come")
