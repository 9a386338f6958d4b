from kit import *

with attempt("sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    reached(os.sched_getaffinity(0))
