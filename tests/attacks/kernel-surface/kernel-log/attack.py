from kit import *

text = room(4096)
with attempt("syslog"):
    reached("bytes", call("syslog", 3, text, 4096))
