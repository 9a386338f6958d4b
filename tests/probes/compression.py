"""Bytes are compressed by three methods."""
import bz2, lzma, zlib
data = b"the same words again " * 20000
for module in (zlib, bz2, lzma):
    assert module.decompress(module.compress(data)) == data
print("works")
