"""A recursion that goes too deep is caught."""
def down(n):
    return down(n + 1)
try:
    down(0)
except RecursionError:
    pass
else:
    raise AssertionError("no end")
print("works")
