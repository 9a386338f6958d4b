from kit import *

with attempt("dup"):
    held = [os.dup(0) for _ in range(5000 if "--" in sys.argv else 1100)]
    reached(len(held))
