from kit import *

signal.signal(signal.SIGTERM, signal.SIG_IGN)
with attempt("kill(0)"):
    os.kill(0, signal.SIGTERM)
    absent("only this process was in the group")
