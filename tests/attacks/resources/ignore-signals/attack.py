from kit import *

for number_ in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number_, signal.SIG_IGN)
    except OSError:
        pass
time.sleep(3)
reached("three seconds")
