from kit import *

reading, writing = os.pipe()
with attempt("F_SETPIPE_SZ"):
    reached(fcntl.fcntl(writing, 1031, 1 << 20))
