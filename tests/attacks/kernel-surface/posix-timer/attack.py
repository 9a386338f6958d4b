from kit import *

number_ = ctypes.c_int()
with attempt("timer_create"):
    call("timer_create", 1, None, ctypes.byref(number_))
    reached("timer", number_.value)
