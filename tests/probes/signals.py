"""An alarm interrupts a long computation."""
import signal, time
class Late(Exception): pass
def ring(*_): raise Late
signal.signal(signal.SIGALRM, ring); signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    while True: time.sleep(1)
except Late: pass
print("works")
