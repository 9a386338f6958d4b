from kit import *

with attempt("sched_getaffinity"):
    reached(os.sched_getaffinity(int(target("PROCESS"))))
