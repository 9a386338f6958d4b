from kit import *

with attempt("msgget"):
    queue = call("msgget", 0x5afe, 0o1600)
    reached("queue", queue)
