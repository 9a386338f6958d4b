from kit import *

# The block of strings that the kernel put there at exec, as the C library sees it.
environment = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
found, at = [], 0
while environment[at]:
    found.append(environment[at])
    at += 1
held = [line for line in found if line.startswith(b"SECRET=")]
if held:
    reached(held[0].decode())
else:
    absent(f"{len(found)} strings")
