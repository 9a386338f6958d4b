from kit import *

page = room(4096)
vector = struct.pack("PN", ctypes.addressof(page), 4096)
reading, writing = os.pipe()
with attempt("vmsplice"):
    reached("bytes", call("vmsplice", writing, vector, 1, 0))
