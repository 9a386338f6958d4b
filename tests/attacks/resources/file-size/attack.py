from kit import *

with attempt("truncate"):
    os.truncate(os.open("/workdir/file", os.O_CREAT | os.O_WRONLY), 100 << 30)
    reached(os.stat("/workdir/file").st_size)
