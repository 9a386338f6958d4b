from kit import *

with attempt("plant"):
    os.mkdir("/skill/scripts/__pycache__")
    reached("a __pycache__ was made")
