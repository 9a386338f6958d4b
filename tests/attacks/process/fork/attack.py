from kit import *

with attempt("fork"):
    pid = child(lambda: None)
    reached("a child ended with", os.waitpid(pid, 0)[1])
