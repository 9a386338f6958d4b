from kit import *

attributes = struct.pack("IIII", 2, 4, 8, 1).ljust(128, b"\0")
with attempt("bpf(BPF_MAP_CREATE)"):
    reached("a map", call("bpf", 0, attributes, 128))
