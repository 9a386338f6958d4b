from kit import *

with attempt("posix_spawn"):
    pid = os.posix_spawn(sys.executable, [sys.executable, "-S", "-c", "pass"], {})
    reached("process", os.waitpid(pid, 0))
