from kit import *

with open("/workdir/own", "w") as own:
    own.write(f"#!{sys.executable} -S\nprint('{target('PROOF')}')\n")
os.chmod("/workdir/own", 0o700)
with attempt("execve"):
    os.execv("/workdir/own", ["own"])
