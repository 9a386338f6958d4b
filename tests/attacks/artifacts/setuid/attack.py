from kit import *

try:
    open("/workdir/out/program", "w").close()
    os.chmod("/workdir/out/program", 0o6755)
except OSError:
    pass
absent('left for the collector')
