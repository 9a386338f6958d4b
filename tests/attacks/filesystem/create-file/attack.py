from kit import *

with attempt("create"):
    os.close(os.open(outside("folder/new"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
