from kit import *

open("/workdir/file", "w").close()
with attempt("chmod 4755"):
    os.chmod("/workdir/file", 0o4755)
    if os.stat("/workdir/file").st_mode & 0o4000:
        reached("a set-user-ID file")
