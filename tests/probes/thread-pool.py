"""A pool of threads maps a function."""
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    assert sum(pool.map(lambda n: n * n, range(1000))) == 332833500
print("works")
