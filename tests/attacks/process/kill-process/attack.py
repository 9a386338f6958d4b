from kit import *

with attempt("kill"):
    os.kill(int(target("PROCESS")), signal.SIGKILL)
