from kit import *

sys.stdout.flush()
block = b"x" * 65536
for _ in range(40):
    os.write(1, block)
print(target("PROOF"), file=sys.stderr)
