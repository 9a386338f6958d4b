from kit import *

# Whoever collects it by either name has what can still change.
open("/workdir/out/file", "w").write(target("PROOF"))
os.link("/workdir/out/file", "/workdir/out/again")
absent('left for the collector')
