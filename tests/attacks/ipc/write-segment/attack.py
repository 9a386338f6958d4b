from kit import *

with attempt("shmget and shmat"):
    segment = call("shmget", int(target("SEGMENT") or 0), 0, 0)
    libc.shmat.restype = ctypes.c_void_p
    place = libc.shmat(segment, None, 0)
    if place == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "shmat")
    ctypes.memmove(place, b"reached", 7)
