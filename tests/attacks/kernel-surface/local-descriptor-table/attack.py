from kit import *

entry = struct.pack("IIII", 0, 0, 0xfffff, 0x51)
with attempt("modify_ldt"):
    call("modify_ldt", 1, entry, len(entry))
    reached("an entry was written")
