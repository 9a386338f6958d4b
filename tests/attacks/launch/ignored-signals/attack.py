from kit import *

os.kill(os.getpid(), signal.SIGUSR1)
reached("alive")
