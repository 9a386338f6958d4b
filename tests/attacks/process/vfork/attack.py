from kit import *

with attempt("clone with CLONE_VM"):
    # A stack of its own; the new process starts in the middle of the C library and dies at once.
    stack = room(65536)
    pid = call("clone", 0x100 | 17, ctypes.c_void_p(ctypes.addressof(stack) + 65000), 0, 0, 0)
    reached("a process", pid)
