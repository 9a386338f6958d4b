from kit import *

with attempt("setpriority"):
    call("setpriority", 0, 0, 5)
    reached(os.getpriority(os.PRIO_PROCESS, 0))
