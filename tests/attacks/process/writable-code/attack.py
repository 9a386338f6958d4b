from kit import *

code = b"\xb8\x2a\x00\x00\x00\xc3" if X86 else b"\x40\x05\x80\x52\xc0\x03\x5f\xd6"
with attempt("mmap"):
    reached("ran and gave", machine_code(code))
