from kit import *

with attempt("setdomainname"):
    call("setdomainname", b"renamed", 7)
    reached("the domain was renamed")
