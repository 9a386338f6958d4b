from kit import *

program = (ctypes.c_char * 8).from_buffer_copy(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
filter_ = struct.pack("HxxxxxxP", 1, ctypes.addressof(program))
with attempt("seccomp"):
    reached("a listener", call("seccomp", 1, 8, filter_))
