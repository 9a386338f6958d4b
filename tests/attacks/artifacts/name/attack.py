from kit import *

open("/workdir/out/a\n\x1b]0;title\x07b", "w").close()
absent('left for the collector')
