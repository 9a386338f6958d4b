from kit import *

with attempt("sethostname"):
    socket.sethostname("renamed")
