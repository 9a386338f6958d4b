from kit import *

with attempt("rename"):
    os.rename(outside("folder/inner"), outside("moved"))
