from kit import *

with attempt("mkdir"):
    os.mkdir(outside("folder/made"))
