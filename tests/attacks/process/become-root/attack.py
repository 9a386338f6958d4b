from kit import *

with attempt("setresuid"):
    os.setresuid(0, 0, 0)
    reached(os.getresuid())
