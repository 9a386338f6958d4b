from kit import *

with attempt("boot_id"):
    reached(open("/proc/sys/kernel/random/boot_id").read())
