from kit import *

page = mmap.mmap(-1, 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
with attempt("mprotect"):
    call("mprotect", address, 4096, 5)
    reached("executable at", address)
