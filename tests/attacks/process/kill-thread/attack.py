from kit import *

with attempt("tgkill"):
    call("tgkill", int(target("PROCESS")), int(target("PROCESS")), 9)
