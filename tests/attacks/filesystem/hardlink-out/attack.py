from kit import *

with attempt("link"):
    os.link(outside("writable"), outside("second"))
