from kit import *

header = struct.pack("Ii", 0x20080522, 0)
wanted = struct.pack("IIIIII", 0x1fffff, 0x1fffff, 0, 0, 0, 0)
with attempt("capset"):
    call("capset", header, wanted)
    reached("capabilities")
