from kit import *

attributes = bytearray(128)
struct.pack_into("IIQ", attributes, 0, 1, 128, 0)
struct.pack_into("Q", attributes, 40, 0x61)
with attempt("perf_event_open"):
    reached("a counter", call("perf_event_open", bytes(attributes), 0, -1, -1, 0))
