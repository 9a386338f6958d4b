from kit import *

os.chdir("/workdir/out")
for _ in range(200):
    os.mkdir("d")
    os.chdir("d")
absent('left for the collector')
