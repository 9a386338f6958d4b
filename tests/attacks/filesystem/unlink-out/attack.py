from kit import *

with attempt("unlink"):
    os.unlink(outside("writable"))
