from kit import *

os.symlink(target("HOSTDIR"), "/workdir/out/results")
absent('left for the collector')
