from kit import *

with attempt("pidfd_open"):
    descriptor = call("pidfd_open", int(target("PROCESS")), 0)
    call("pidfd_send_signal", descriptor, 9, None, 0)
