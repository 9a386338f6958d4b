from kit import *

with attempt("mlock"):
    page = room(1 << 16)
    call("mlock", ctypes.addressof(page), 1 << 16)
    reached("locked")
