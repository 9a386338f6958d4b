from kit import *

with attempt("personality"):
    call("personality", 0x0400000 | 0x0040000)
    reached("personality", hex(call("personality", 0xffffffff)))
