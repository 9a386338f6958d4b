from kit import *

information = room(128)
information[0:12] = struct.pack("iii", 9, 0, -1)
with attempt("rt_sigqueueinfo"):
    call("rt_sigqueueinfo", int(target("PROCESS")), 9, information)
