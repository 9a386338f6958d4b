from kit import *

with attempt("execve"):
    os.execv(sys.executable, ["python", "-S", "-c", f"print('{target('PROOF')}')"])
