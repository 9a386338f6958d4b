from kit import *

if os.getsid(0) == os.getpid() or os.getsid(0) == 0:
    (absent if os.getpgid(0) == os.getpid() else reached)(("session", os.getsid(0)))
elif os.getsid(0) == os.getppid():
    absent("the session of the jail's first process")
else:
    reached("session", os.getsid(0))
