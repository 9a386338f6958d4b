from kit import *

for number_ in range(3000):
    open(f"/workdir/out/{number_}", "w").close()
absent('left for the collector')
