"""Data classes, pattern matching, generators."""
from dataclasses import dataclass
from itertools import islice
@dataclass
class Point: x: int; y: int
def kind(p):
    match p:
        case Point(0, 0): return "origin"
        case Point(x, _) if x > 0: return "right"
        case _: return "left"
def primes():
    found, n = [], 2
    while True:
        if all(n % p for p in found): found.append(n); yield n
        n += 1
assert [kind(Point(*p)) for p in ((0, 0), (1, 0), (-1, 0))] == ["origin", "right", "left"]
assert list(islice(primes(), 100))[-1] == 541
print("works")
