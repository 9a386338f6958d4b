from kit import *

with attempt("x32 getpid"):
    reached("pid", raw(0x40000000 + NUMBERS["getpid"]))
