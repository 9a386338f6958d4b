from kit import *

with attempt("append"):
    with open("/etc/passwd", "a") as file:
        file.write("root::0:0::/:/bin/sh\n")
    reached(open("/etc/passwd").read())
