from kit import *

sending = target("ROLE") == "sender"
end = time.monotonic() + 1.6

if sending:
    time.sleep(1)
else:
    memory = mmap.mmap(-1, 8192)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    pages = room(2)
    with attempt("mincore"):
        call("mincore", address, 8192, pages)
        reached(list(pages.raw))
