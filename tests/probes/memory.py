"""A hundred megabytes of memory are used and given back."""
block = bytearray(100 << 20)
block[::4096] = b"x" * len(block[::4096])
del block
assert sum(len(bytearray(10 << 20)) for _ in range(10)) == 100 << 20
print("works")
