from kit import *

size = 1 << 40
while size > 1 << 20:
    try:
        with open("/workdir/out/file", "wb") as file:
            file.truncate(size)
        break
    except OSError:
        size //= 2
absent('left for the collector')
