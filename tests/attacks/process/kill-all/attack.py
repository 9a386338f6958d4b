from kit import *

with attempt("kill(-1)"):
    try:
        os.kill(-1, signal.SIGKILL)
        absent("nobody of the host's was there")
    except ProcessLookupError:
        absent("nobody was there")
