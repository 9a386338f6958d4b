from kit import *

for _ in range(30000):
    try:
        call("bpf", 99, None, 0)
    except OSError as error:
        last = error.errno
reached("30,000 refusals")
