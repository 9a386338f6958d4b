from kit import *

with attempt("PR_SET_MM"):
    size = ctypes.c_uint(0)
    call("prctl", 35, 15, ctypes.byref(size), 0, 0)
    reached("the size of the map is", size.value)
