from kit import *

with attempt("/proc/self/mem"):
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        text = ctypes.create_string_buffer(b"mine")
        memory.seek(ctypes.addressof(text))
        reached(memory.read(4))
