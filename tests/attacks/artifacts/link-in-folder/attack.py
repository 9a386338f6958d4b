from kit import *

os.makedirs("/workdir/out/a/b")
os.symlink(target("HOSTDIR") + "/secret", "/workdir/out/a/b/report.txt")
absent('left for the collector')
