from kit import *

with attempt("mmap with MAP_HUGETLB"):
    memory = mmap.mmap(-1, 2 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)
    reached(len(memory))
