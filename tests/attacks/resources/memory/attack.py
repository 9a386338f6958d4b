from kit import *

with attempt("a gigabyte"):
    memory = mmap.mmap(-1, 1200 << 20)
    reached(len(memory))
