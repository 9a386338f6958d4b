from kit import *

file = os.open(os.__file__, os.O_RDONLY)
reading, writing = os.pipe()
offset = ctypes.c_longlong(1)
with attempt("splice"):
    reached("bytes", call("splice", file, ctypes.byref(offset), writing, None, 1, 0))
