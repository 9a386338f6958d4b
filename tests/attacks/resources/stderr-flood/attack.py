from kit import *

block = b"x" * 65536
for _ in range(100):
    os.write(2, block)
reached("6 MiB of errors")
