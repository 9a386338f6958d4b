from kit import *

with attempt("utimensat"):
    os.utime("/skill/scripts/kit.py", (1, 1))
    reached(os.stat("/skill/scripts/kit.py").st_mtime)
