from kit import *

with attempt("overwrite"):
    with open("/skill/scripts/kit.py", "r+") as file:
        file.write("#")
    reached("the skill's own file was changed")
