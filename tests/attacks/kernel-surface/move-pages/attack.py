from kit import *

page = room(8192)
pages = (ctypes.c_void_p * 1)(ctypes.addressof(page))
status = (ctypes.c_int * 1)()
with attempt("move_pages"):
    call("move_pages", 0, 1, pages, None, status, 0)
    reached("a node", status[0])
