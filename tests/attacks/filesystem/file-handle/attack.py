from kit import *

handle = room(136)
handle[0:4] = struct.pack("I", 128)
mount = ctypes.c_int()
with attempt("name_to_handle_at"):
    call("name_to_handle_at", -100, b"/workdir", handle, ctypes.byref(mount), 0)
    reached("a handle of", struct.unpack_from("I", handle.raw)[0])
