from kit import *

count = 0
with attempt("fork"):
    for count in range(1, 101):
        pid = os.fork()
        if pid == 0:
            os.closerange(0, 3)
            signal.pause()
            os._exit(0)
    reached(f"{count} processes")
