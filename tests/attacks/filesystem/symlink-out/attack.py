from kit import *

os.symlink(outside("secret"), "/workdir/link")
with attempt("read the link"):
    reached(open("/workdir/link").read())
