from kit import *

with attempt("unshare CLONE_NEWUSER"):
    call("unshare", 0x10000000)
    reached("uid", os.getuid())
