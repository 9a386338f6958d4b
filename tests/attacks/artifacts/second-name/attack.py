from kit import *

open("/workdir/out/file", "w").write("x")
os.link("/workdir/out/file", "/workdir/out/again")
absent('left for the collector')
