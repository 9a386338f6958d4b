from kit import *

with attempt("setgroups"):
    os.setgroups([])
    reached(os.getgroups())
