from kit import *

with attempt("kill(pid, 0)"):
    os.kill(int(target("PROCESS")), 0)
    reached("the process is there")
