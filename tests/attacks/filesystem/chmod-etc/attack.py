from kit import *

with attempt("chmod"):
    os.chmod("/etc/passwd", 0o600)
    reached(oct(os.stat("/etc/passwd").st_mode))
