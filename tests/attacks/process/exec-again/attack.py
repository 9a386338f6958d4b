from kit import *

with attempt("execve"):
    os.execv(sys.executable, [sys.executable, "-S", "-c", f"print('{target('PROOF')}')"])
