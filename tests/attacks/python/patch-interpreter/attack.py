from kit import *

address = ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~4095
with attempt("mprotect"):
    call("mprotect", address, 4096, 7)
    code = b"\xb8\x2a\x00\x00\x00\xc3" if X86 else b"\x40\x05\x80\x52\xc0\x03\x5f\xd6"
    ctypes.memmove(ctypes.cast(libc.getpid, ctypes.c_void_p).value, code, len(code))
    reached("getpid says", libc.getpid())
