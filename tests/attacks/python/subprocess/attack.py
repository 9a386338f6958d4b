from kit import *

import subprocess
with attempt("subprocess.run"):
    reached(subprocess.run([sys.executable, "-S", "-c", "print(7)"], capture_output=True).returncode)
