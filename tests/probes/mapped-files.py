"""A file is mapped and changed."""
import mmap
open("f", "wb").write(b"a" * 8192)
with open("f", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
    memory[4096:4100] = b"bbbb"; memory.flush()
assert open("f", "rb").read()[4096:4100] == b"bbbb"
print("works")
