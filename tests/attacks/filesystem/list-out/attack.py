from kit import *

with attempt("list"):
    reached(os.listdir(outside("folder")))
