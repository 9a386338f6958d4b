from kit import *

signal.signal(signal.SIGHUP, signal.SIG_IGN)
with attempt("kill(0)"):
    os.kill(0, signal.SIGHUP)
    absent("only this process was in the group")
