from kit import *

loader = next(f"/usr/lib64/{name}" for name in os.listdir("/usr/lib64") if name.startswith("ld-linux")) if os.path.isdir("/usr/lib64") else "/lib/ld-linux-aarch64.so.1"
with attempt("execve of the loader"):
    os.execv(loader, [loader, sys.executable, "-S", "-c", f"print('{target('PROOF')}')"])
