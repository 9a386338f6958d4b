from kit import *

with attempt("userfaultfd"):
    reached("a descriptor", call("userfaultfd", 1))
