from kit import *

with attempt("forkpty"):
    import pty
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    reached("a process", pid)
