from kit import *

parameters = room(120)
with attempt("io_uring_setup"):
    reached("a ring", call("io_uring_setup", 4, parameters))
