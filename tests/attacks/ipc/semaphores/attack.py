from kit import *

with attempt("semget"):
    reached("set", call("semget", 0x5afe, 16, 0o1600))
