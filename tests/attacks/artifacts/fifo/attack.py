from kit import *

try:
    os.mkfifo("/workdir/out/pipe")
except OSError:
    pass
absent('left for the collector')
