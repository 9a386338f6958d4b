from kit import *

os.symlink(target("HOSTDIR") + "/secret", "/workdir/out/report.txt")
absent('left for the collector')
