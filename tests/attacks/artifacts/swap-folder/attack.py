from kit import *

try:
    os.rename("/workdir/out", "/workdir/was")
    os.symlink(target("HOSTDIR"), "/workdir/out")
except OSError:
    pass
try:
    os.symlink(target("HOSTDIR") + "/secret", "/workdir/out/x")
except OSError:
    pass
absent('left for the collector')
