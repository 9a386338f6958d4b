from kit import *

with attempt("pidfd_getfd"):
    descriptor = call("pidfd_open", int(target("PROCESS")), 0)
    reached("its stdin", call("pidfd_getfd", descriptor, 0, 0))
