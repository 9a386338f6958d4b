from kit import *

came = []
signal.signal(signal.SIGSYS, lambda *_: came.append(1))
with attempt("kill(self, SIGSYS)"):
    os.kill(os.getpid(), signal.SIGSYS)
    reached("SIGSYS came", came)
