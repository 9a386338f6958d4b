from kit import *

code = b"\xb8\x2a\x00\x00\x00\xc3" if X86 else b"\x40\x05\x80\x52\xc0\x03\x5f\xd6"
with open("/workdir/code", "wb") as file:
    file.write(code.ljust(4096, b"\0"))
descriptor = os.open("/workdir/code", os.O_RDONLY)
libc.mmap.restype = ctypes.c_void_p
with attempt("mmap of /workdir/code"):
    address = libc.mmap(None, ctypes.c_size_t(4096), 5, 2, descriptor, ctypes.c_long(0))
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    reached("ran and gave", ctypes.CFUNCTYPE(ctypes.c_long)(address)())
