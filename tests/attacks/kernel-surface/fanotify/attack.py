from kit import *

with attempt("fanotify_init"):
    reached("a group", call("fanotify_init", 0x200, 0))
