from kit import *

with attempt("truncate"):
    os.truncate(outside("writable"), 0)
