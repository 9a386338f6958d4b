from kit import *

page = mmap.mmap(-1, 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
with attempt("pkey_mprotect"):
    call("pkey_mprotect", address, 4096, 5, -1)
    reached("executable at", address)
