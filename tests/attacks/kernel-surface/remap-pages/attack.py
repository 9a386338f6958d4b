from kit import *

descriptor = os.open("/workdir/file", os.O_CREAT | os.O_RDWR, 0o600)
os.truncate("/workdir/file", 8192)
memory = mmap.mmap(descriptor, 8192)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
with attempt("remap_file_pages"):
    call("remap_file_pages", address, 4096, 0, 1, 0)
    reached("page 1 is at page 0")
