from kit import *

with attempt("utimensat"):
    os.utime(outside("writable"))
