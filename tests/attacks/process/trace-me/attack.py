from kit import *

with attempt("PTRACE_TRACEME"):
    call("ptrace", 0, 0, 0, 0)
    reached("traced by the parent")
