"""Sixty thousand bytes of output."""
print("\n".join("x" * 59 for _ in range(1000)))
print("works")
