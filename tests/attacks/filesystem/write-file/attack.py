from kit import *

with attempt("write"):
    with open(outside("writable"), "w") as file:
        file.write("reached")
    say(wrote=True)
