from kit import *

with attempt("pkey_alloc"):
    reached("key", call("pkey_alloc", 0, 0))
