from kit import *

with attempt("PR_SET_SYSCALL_USER_DISPATCH"):
    selector = ctypes.c_char(0)
    call("prctl", 59, 1, 0, 0xffffffffffff if sys.maxsize > 2**32 else 0, ctypes.byref(selector))
    reached("calls are dispatched")
