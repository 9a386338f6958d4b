from kit import *

with attempt("read 7"):
    reached(os.read(7, 100).decode())
