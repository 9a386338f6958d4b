from kit import *

with attempt("getpgid"):
    reached("its group is", os.getpgid(int(target("PROCESS"))))
