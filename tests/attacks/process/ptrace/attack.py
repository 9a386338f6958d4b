from kit import *

with attempt("PTRACE_ATTACH"):
    call("ptrace", 16, int(target("PROCESS")), 0, 0)
    os.waitpid(int(target("PROCESS")), 0x40000000)
    reached("it is traced")
