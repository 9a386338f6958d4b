from kit import *

with attempt("pidfd_open and setns"):
    descriptor = call("pidfd_open", int(target("PROCESS")), 0)
    call("setns", descriptor, 0x4000000)
    reached("the uts namespace of another process")
