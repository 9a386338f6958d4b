from kit import *

with attempt("read"):
    reached(open(outside("secret")).read())
