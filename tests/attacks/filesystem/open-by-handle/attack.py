from kit import *

open("/workdir/file", "w").write("x")
handle = room(136)
handle[0:4] = struct.pack("I", 128)
mount = ctypes.c_int()
with attempt("name_to_handle_at"):
    call("name_to_handle_at", -100, b"/workdir/file", handle, ctypes.byref(mount), 0)
    directory = os.open("/workdir", os.O_RDONLY)
    call("open_by_handle_at", directory, handle, 0)
    reached("opened by handle")
