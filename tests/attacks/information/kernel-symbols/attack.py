from kit import *

with attempt("/proc/kallsyms"):
    reached(open("/proc/kallsyms").readline())
