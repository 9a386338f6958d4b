from kit import *

context = ctypes.c_ulong()
with attempt("io_setup"):
    call("io_setup", 1, ctypes.byref(context))
    reached("a context", hex(context.value))
