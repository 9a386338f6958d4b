"""Exact arithmetic."""
from decimal import Decimal, getcontext
from fractions import Fraction
getcontext().prec = 50
assert str(Decimal(1) / 7).startswith("0.142857") and Fraction(1, 3) + Fraction(1, 6) == Fraction(1, 2)
print("works")
