from kit import *

arguments = struct.pack("QQQQQQQQ", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
with attempt("clone3"):
    pid = call("clone3", arguments, len(arguments))
    if pid == 0:
        os._exit(0)
    reached("a process", pid)
