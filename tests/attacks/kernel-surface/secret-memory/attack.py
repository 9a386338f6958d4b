from kit import *

with attempt("memfd_secret"):
    reached("a descriptor", call("memfd_secret", 0))
